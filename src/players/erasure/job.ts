import { NotCaughtUp, waitUntilCaughtUp } from '../../analytics/caught-up.ts';
import { REWRITER_LOCK } from '../../analytics/correction-queries.ts';
import { removeAnswersNaming } from '../../http/idempotency-queries.ts';
import type { CronEntry, NewJob } from '../../platform/jobs/port.ts';
import { requireLocks, takeLock } from '../../platform/postgres/session-locks.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ErasedPerson, Eraser, PlayerDependent } from '../dependents.ts';
import { selectSurvivor } from '../profile/queries.ts';
import { eraseEvents } from './events-queries.ts';
import { eraseAuditOf } from './profile-queries.ts';
import { eraseProfile, forgetProfile, InUse, refOf } from './profile.ts';
import { noteSteps, selectMergedIds, selectRunning, type ErasureRow } from './queries.ts';
import type { ErasureStep } from './schema.ts';

/** Erases everybody whose erasure was confirmed. */
export const ERASE_TASK = 'erase-players';

const MAX_ATTEMPTS = 25;
/** People whose events one rewrite of ClickHouse reduces: it names them in its parameters. */
const MAX_PEOPLE = 500;
/** Rows that one transaction changes. */
const MAX_ROWS = 2_000;
const CATCH_UP_MS = 60_000;
const REWRITER_PATIENCE_MS = 660_000;

/** What the job needs: parts of the platform, and what the rooms and the configuration give. */
export interface EraseDeps extends Pick<
  Platform,
  'postgres' | 'clickhouse' | 'eventLog' | 'clock' | 'logger'
> {
  dependents: readonly PlayerDependent[];
  erasers: readonly Eraser[];
  erasure_key: Buffer;
}

/** A job that does all erasures that are confirmed; it replaces a waiting one. */
export function eraseJob(): NewJob {
  return {
    task: ERASE_TASK,
    payload: {},
    max_attempts: MAX_ATTEMPTS,
    job_key: ERASE_TASK,
    queue: ERASE_TASK,
  };
}

/** Every hour: an erasure that was given up, or whose job was lost, is taken up again. */
export const ERASE_CRONTAB: readonly CronEntry[] = [
  { identifier: 'erasures', match: '20 * * * *', backfill_ms: 3_600_000, job: eraseJob() },
];

/** An erasure in the course of the job. */
interface Open {
  row: ErasureRow;
  person: ErasedPerson;
  steps: Map<string, ErasureStep>;
}

/**
 * The task `erase-players`. First Postgres is emptied person by person. Then what was on its way comes to rest: events in the
 * log are folded and in ClickHouse, mirrors have copied the emptied rows. Then ClickHouse is rewritten, for all people at
 * once, and Postgres is looked at again: an exclusion that was folded meanwhile is kept, and the last links to the person go.
 * Each step may be repeated. Rejects when an erasure is not done, so that the job is tried again; the others are done
 * nevertheless.
 */
export async function runEraseJob(deps: EraseDeps, stop: AbortSignal): Promise<void> {
  for (;;) {
    const rows = await selectRunning(deps.postgres.service, MAX_PEOPLE);
    if (rows.length === 0) return;
    const emptied: Open[] = [];
    for (const row of rows) {
      stop.throwIfAborted();
      const open = await openErasure(deps, row);
      if (await attempt(deps, stop, [open], () => emptyPostgres(deps, open, eraseProfile)))
        emptied.push(open);
    }
    let done = 0;
    if (
      emptied.length > 0 &&
      (await attempt(deps, stop, emptied, () => emptyClickHouse(deps, emptied, stop)))
    ) {
      for (const open of emptied) {
        stop.throwIfAborted();
        if (await attempt(deps, stop, [open], () => conclude(deps, open))) done++;
      }
    }
    if (done < rows.length) throw new Error(`${rows.length - done} erasures are not done yet`);
    if (rows.length < MAX_PEOPLE) return;
  }
}

async function openErasure({ postgres }: EraseDeps, row: ErasureRow): Promise<Open> {
  const { tenant_id, project_id, erasure_id, steps } = row;
  const { service } = postgres;
  // Merged since it was confirmed: both are the person.
  const [survivor] = await selectSurvivor(service, row);
  const player_id = survivor?.player_id ?? row.player_id;
  const merged = await selectMergedIds(service, { tenant_id, project_id, player_id });
  const person = { tenant_id, project_id, player_ids: [player_id, ...merged], erasure_id };
  return { row, person, steps: new Map(steps.map((step) => [step.step, step])) };
}

/** Runs a part of these erasures, and notes their steps, or why it failed; false when it failed. Rejects when `stop` ended it. */
async function attempt(
  deps: EraseDeps,
  stop: AbortSignal,
  open: readonly Open[],
  work: () => Promise<Date | null>,
): Promise<boolean> {
  const { postgres, logger } = deps;
  const note = async (last_error: string | null, completed_at: Date | null) => {
    for (const { row, steps } of open)
      await noteSteps(postgres.service, row, { steps: [...steps.values()], last_error, completed_at });
  };
  try {
    await note(null, await work());
    return true;
  } catch (error) {
    if (stop.aborted) throw error;
    const erasure_ids = open.map(({ row }) => row.erasure_id);
    logger.warn({ err: error, erasure_ids }, 'an erasure goes on later');
    const is_clear = error instanceof InUse || error instanceof NotCaughtUp;
    await note(is_clear ? error.message : 'a step failed; the log of the service says why', null);
    return false;
  }
}

async function emptyPostgres(
  deps: EraseDeps,
  { person, steps }: Open,
  ofProfile: (deps: EraseDeps, person: ErasedPerson) => Promise<number>,
): Promise<null> {
  const { postgres, clock, erasers } = deps;
  const did = (step: string, rows: number) => {
    const before = steps.get(step)?.rows ?? 0;
    steps.set(step, { step, rows: before + rows, done_at: new Date(clock.now_ms()).toISOString() });
  };
  did('profile', await ofProfile(deps, person));
  const own: Eraser[] = [
    { step: 'audit_log', erase: eraseAuditOf },
    {
      step: 'stored_answers',
      erase: (tx, { tenant_id, player_ids }) => removeAnswersNaming(tx, tenant_id, player_ids),
    },
  ];
  for (const eraser of [...erasers, ...own]) {
    for (let rows = 1; rows > 0;) {
      rows = await postgres.service.begin((tx) => eraser.erase(tx, person, MAX_ROWS));
      did(eraser.step, rows);
    }
  }
  return null;
}

async function emptyClickHouse(deps: EraseDeps, open: readonly Open[], stop: AbortSignal): Promise<null> {
  const { postgres, clickhouse, clock } = deps;
  await waitUntilCaughtUp(deps, CATCH_UP_MS);
  stop.throwIfAborted();
  await postgres.patientSession(async (session) => {
    // event-rewriter derives rows from the rows before: it must not write back what it has read before.
    await takeLock(session, REWRITER_LOCK, REWRITER_PATIENCE_MS);
    const people = open.map(({ person }) => person);
    await eraseEvents(clickhouse, people, () => requireLocks(session));
  });
  const done_at = new Date(clock.now_ms()).toISOString();
  for (const { steps } of open) steps.set('clickhouse', { step: 'clickhouse', rows: null, done_at });
  return null;
}

/** Erases what was written meanwhile; rejects while something of the person is in use. */
async function conclude(deps: EraseDeps, open: Open): Promise<Date> {
  const { postgres, clock, erasers } = deps;
  await emptyPostgres(deps, open, forgetProfile);
  for (const eraser of erasers) {
    const rows = (await eraser.inUse?.(postgres.service, open.person)) ?? 0;
    if (rows > 0) throw new InUse(`${rows} rows of the step ${eraser.step} are still being worked on`);
  }
  deps.logger.info({ erasure_id: open.row.erasure_id, ...refOf(open.person) }, 'a player was erased');
  return new Date(clock.now_ms());
}
