import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import type { CronEntry, NewJob } from '../../../platform/jobs/port.ts';
import type { Platform } from '../../../platform/platform.ts';
import { retryConflicts } from '../../../platform/postgres/retry.ts';
import { readOwnConfig, reportingSettingsOf } from '../../../tenants/config/read.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { decideDefault } from '../decide.ts';
import { sendTimeJob } from '../send-time/job.ts';
import { selectModel, selectProjects, storeModel } from '../model-queries.ts';
import { lockScores, readScores, writeScores, type ScoredPlayer } from '../player-scores-queries.ts';
import {
  countDepositors,
  readDepositDays,
  readDepositors,
  readRevenue,
  type Depositor,
} from './deposit-queries.ts';
import { fitModel, MIN_PLAYERS, type Fitted } from './fit.ts';
import { ngrPerDeposit, scoreOf, type ScoringModel } from './score.ts';

/** Adds jobs for each project. */
export const SCHEDULE_TASK = 'score-schedule';
/** Fits the model of a project, and scores its players. */
export const FIT_TASK = 'score-fit';

const DAY_MS = 86_400_000;
const MAX_ATTEMPTS = 3;
/** Fits of all projects run one after the other: each computes for seconds. */
const QUEUE = 'scores';
/** Projects for which one transaction adds jobs. */
const PROJECTS = 200;
/** Players and days that parameters are fitted to, at most. */
const MAX_SAMPLED = 10_000;
const MAX_SAMPLED_DAYS = 300_000;
/** Players that one statement reads. Each statement reads all deposits. */
const PAGE = 100_000;
/** Players whose scores one transaction writes, at most. */
const CHUNK = 250;

type Deps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'jobs' | 'logger'>;

/** Every night, when few play: a missed night is made up for within the day. */
export const SCORES_CRONTAB: readonly CronEntry[] = [
  {
    identifier: 'scores due',
    match: '20 3 * * *',
    backfill_ms: 43_200_000,
    job: { task: SCHEDULE_TASK, payload: {}, max_attempts: MAX_ATTEMPTS, job_key: SCHEDULE_TASK },
  },
];

const projectPayload = z.strictObject({ tenant_id: z.uuid(), project_id: z.uuid() });

/** A job that fits the model of the project; it replaces a waiting one. */
export function fitJob({ tenant_id, project_id }: ProjectRef): NewJob {
  const payload = { tenant_id, project_id };
  const job_key = `${FIT_TASK} ${project_id}`;
  return { task: FIT_TASK, payload, max_attempts: MAX_ATTEMPTS, job_key, queue: QUEUE };
}

/** The task `score-schedule`: a job per project and model, so that one that fails stops no other. */
export async function runScheduleJob({ postgres, jobs }: Deps, stop: AbortSignal): Promise<void> {
  for (let after: ProjectRef | undefined; ;) {
    stop.throwIfAborted();
    const from = after;
    const projects = await selectProjects(postgres.service, from, PROJECTS);
    await postgres.service.begin(async (tx) => {
      for (const project of projects) {
        await jobs.add(tx, fitJob(project));
        await jobs.add(tx, sendTimeJob(project, QUEUE));
      }
    });
    after = projects.at(-1);
    if (projects.length < PROJECTS) return;
  }
}

/**
 * The task `score-fit`: fits the model to a sample of the project's players by their deposits up to the last midnight (UTC),
 * and writes the scores of all of them that have changed. A model that is worse than plain recency, or that has too few
 * players, writes none, and takes away those that it had. A repetition writes nothing.
 */
export async function runFitJob(deps: Deps, payload: unknown, stop: AbortSignal): Promise<void> {
  const project = projectPayload.parse(payload);
  const { clickhouse, postgres, clock, logger } = deps;
  const now_ms = clock.now_ms();
  const until_ms = now_ms - (now_ms % DAY_MS);
  const question = { ...project, until_ms };
  const { players, days } = await countDepositors(clickhouse, question);
  const [before] = await selectModel(postgres.service, project);
  // There is nothing to compute, and nothing to take away. Or a clock was behind.
  if (before === undefined ? players < MIN_PLAYERS : before.as_of.getTime() > until_ms) return;
  const shares = Math.max(1, Math.ceil(Math.max(players / MAX_SAMPLED, days / MAX_SAMPLED_DAYS)));
  const sample = await readDepositDays(clickhouse, { ...question, share: 0, shares });
  const breathe = async () => {
    stop.throwIfAborted();
    await turn();
  };
  const day = until_ms / DAY_MS - 1;
  const fitted = await fitModel(sample, day, breathe);
  const reporting = reportingSettingsOf(await readOwnConfig(postgres, project.tenant_id));
  const revenue = await readRevenue(clickhouse, project, reporting);
  const as_of = new Date(until_ms);
  await storeModel(postgres.service, project, {
    status: fitted.status,
    as_of,
    fitted_at: new Date(clock.now_ms()),
    ...revenue,
    fit: { players, sampled: sample.length, ...fitted.fit },
  });
  const model = scoringModelOf(fitted, ngrPerDeposit(revenue));
  const written = await scoreAll(deps, { ...question, players, as_of, day }, model, stop);
  const { status } = fitted;
  logger.info(
    { event: 'scores-summary', ...project, status, players, written },
    'scored the players of a project',
  );
}

function scoringModelOf(
  { status, purchases, spending }: Fitted,
  ngr_per_deposit: number | undefined,
): ScoringModel | undefined {
  if (status !== 'on' || purchases === undefined || spending === undefined) return undefined;
  return { purchases, spending, ngr_per_deposit };
}

interface Night extends ProjectRef {
  until_ms: number;
  players: number;
  as_of: Date;
  day: number;
}

/** Scores all players with deposits, a share of them at a time; resolves with how many have been written. */
async function scoreAll(
  deps: Deps,
  { players, as_of, day, ...question }: Night,
  model: ScoringModel | undefined,
  stop: AbortSignal,
): Promise<number> {
  let written = 0;
  const shares = Math.max(1, Math.ceil(players / PAGE));
  for (let share = 0; share < shares; share++) {
    const depositors = await readDepositors(deps.clickhouse, { ...question, share, shares });
    for (let i = 0; i < depositors.length; i += CHUNK) {
      stop.throwIfAborted();
      const chunk = depositors.slice(i, i + CHUNK);
      written += await scoreChunk(deps, question, chunk, { model, as_of, day });
      await turn();
    }
  }
  return written;
}

/** Scores a few players. Only the rows of those whose scores change are locked, and decided again under the lock. */
async function scoreChunk(
  { postgres, clock }: Deps,
  project: ProjectRef,
  depositors: readonly Depositor[],
  { model, as_of, day }: { model: ScoringModel | undefined; as_of: Date; day: number },
): Promise<number> {
  const by_id = new Map(depositors.map((one) => [one.player_id, one]));
  const changesOf = (players: readonly ScoredPlayer[]) =>
    players.flatMap(({ player_id, is_barred, ...stored }) => {
      const depositor = by_id.get(player_id);
      if (depositor === undefined) return [];
      const computed = model === undefined ? undefined : scoreOf(model, depositor, day, is_barred);
      const next = decideDefault(stored, computed, as_of);
      return next === undefined ? [] : [{ ...next, player_id }];
    });
  const seen = await readScores(postgres.service, project, [...by_id.keys()], new Date(clock.now_ms()));
  const player_ids = changesOf(seen).map(({ player_id }) => player_id);
  if (player_ids.length === 0) return 0;
  return retryConflicts(() =>
    postgres.service.begin(async (tx) => {
      const now = new Date(clock.now_ms());
      const changed = changesOf(await lockScores(tx, project, player_ids, now));
      await writeScores(tx, project, changed, now);
      return changed.length;
    }),
  );
}
