import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import type { NewJob } from '../../../platform/jobs/port.ts';
import type { Platform } from '../../../platform/platform.ts';
import { retryConflicts } from '../../../platform/postgres/retry.ts';
import { reportingZone } from '../../../tenants/config/read.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { fitSendTime, MIN_PLAYERS } from './fit.ts';
import {
  distanceOf,
  MIN_SESSIONS,
  packHours,
  sessionsOf,
  unpackHours,
  type SendTimeParameters,
} from './hours.ts';
import {
  readHours,
  selectSendTimeModel,
  storeSendTimeModel,
  writeHours,
  type StoredHours,
} from './model-queries.ts';
import {
  countSessions,
  readClocks,
  readPlayerHours,
  readSessionHours,
  type PlayerHours,
  type SessionQuestion,
} from './session-queries.ts';

/** Fits the model of send times of a project, and stores the hours of its players. */
export const SEND_TIME_TASK = 'send-time-fit';

const DAY_MS = 86_400_000;
const MAX_ATTEMPTS = 3;
/** Players and sessions that the model is fitted to, at most. */
const MAX_SAMPLED = 10_000;
const MAX_SAMPLED_SESSIONS = 300_000;
/** Players that one statement reads. Each statement reads all sessions. */
const PAGE = 100_000;
/** Players whose hours one transaction writes, at most. */
const CHUNK = 250;
/** By so much the chances of a player must change before the hours are written again. */
const LEAST_CHANGE = 0.05;
/** The most sessions of an hour: one byte. */
const MAX_COUNT = 255;

type Deps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'logger'>;

const projectPayload = z.strictObject({ tenant_id: z.uuid(), project_id: z.uuid() });

/** A job that fits the model of the project, in a queue of fits; it replaces a waiting one. */
export function sendTimeJob({ tenant_id, project_id }: ProjectRef, queue: string): NewJob {
  const payload = { tenant_id, project_id };
  const job_key = `${SEND_TIME_TASK} ${project_id}`;
  return { task: SEND_TIME_TASK, payload, max_attempts: MAX_ATTEMPTS, job_key, queue };
}

/**
 * The task `send-time-fit`: fits the model to a sample of the project's players by their sessions up to the last midnight (UTC),
 * and stores the hours of all whose chances have changed. A model that is not on stores none: nobody reads those that there are.
 * In each case hours are taken away of players who have too few sessions now. A repetition writes nothing.
 */
export async function runSendTimeJob(deps: Deps, payload: unknown, stop: AbortSignal): Promise<void> {
  const project = projectPayload.parse(payload);
  const { clickhouse, postgres, clock, logger } = deps;
  const now_ms = clock.now_ms();
  const until_ms = now_ms - (now_ms % DAY_MS);
  const zone = await reportingZone(postgres, project.tenant_id);
  const clocks = await readClocks(clickhouse, project, zone, until_ms);
  const question = { ...project, until_ms, clocks };
  const { players, timed, sessions, known } = await countSessions(clickhouse, question);
  const [before] = await selectSendTimeModel(postgres.service, project);
  // There is nothing to compute, and nothing to change. Or a clock was behind.
  if (before === undefined ? timed < MIN_PLAYERS : before.as_of.getTime() > until_ms) return;
  const shares = Math.max(1, Math.ceil(Math.max(players / MAX_SAMPLED, sessions / MAX_SAMPLED_SESSIONS)));
  const sample = await readSessionHours(clickhouse, { ...question, share: 0, shares });
  const breathe = async () => {
    stop.throwIfAborted();
    await turn();
  };
  const { status, ...fitted } = await fitSendTime(sample, until_ms, breathe);
  await storeSendTimeModel(postgres.service, project, {
    status,
    as_of: new Date(until_ms),
    fitted_at: new Date(clock.now_ms()),
    fit: { players, timed_players: timed, sampled: sample.length, ...fitted },
  });
  const parameters = status === 'on' ? fitted.parameters : null;
  const written = await storeAll(deps, { ...question, known, parameters }, stop);
  logger.info(
    { event: 'send-times-summary', ...project, status, players, written },
    'fitted the send times of a project',
  );
}

interface Night extends SessionQuestion {
  known: number;
  /** Null: hours are only taken away. */
  parameters: SendTimeParameters | null;
}

/** Stores the hours of all players, a share of them at a time; resolves with how many have been written. */
async function storeAll(
  deps: Deps,
  { known, parameters, ...question }: Night,
  stop: AbortSignal,
): Promise<number> {
  let written = 0;
  const shares = Math.max(1, Math.ceil(known / PAGE));
  for (let share = 0; share < shares; share++) {
    const found = await readPlayerHours(deps.clickhouse, { ...question, share, shares });
    for (let i = 0; i < found.length; i += CHUNK) {
      stop.throwIfAborted();
      written += await storeChunk(deps, question, found.slice(i, i + CHUNK), parameters);
      await turn();
    }
  }
  return written;
}

async function storeChunk(
  { postgres }: Deps,
  project: ProjectRef,
  found: readonly PlayerHours[],
  parameters: SendTimeParameters | null,
): Promise<number> {
  const by_id = new Map(found.map(({ player_id, hours }) => [player_id, hoursOf(hours)]));
  const stored = await readHours(postgres.service, project, [...by_id.keys()]);
  const changed = stored.flatMap(({ player_id, session_hours }): StoredHours[] => {
    const next = by_id.get(player_id) ?? null;
    return isChanged(parameters, session_hours, next) ? [{ player_id, session_hours: next }] : [];
  });
  if (changed.length === 0) return 0;
  await retryConflicts(() => postgres.service.begin((tx) => writeHours(tx, project, changed)));
  return changed.length;
}

/** The hours as they are stored; null: too few sessions. */
function hoursOf(hours: PlayerHours['hours']): Buffer | null {
  const counts = new Map(hours.map(([hour, sessions]) => [hour, Math.min(sessions, MAX_COUNT)]));
  return sessionsOf(counts) < MIN_SESSIONS ? null : packHours(counts);
}

function isChanged(
  parameters: SendTimeParameters | null,
  stored: Buffer | null,
  next: Buffer | null,
): boolean {
  if (next === null) return stored !== null;
  if (parameters === null) return false;
  if (stored === null) return true;
  return (
    !stored.equals(next) && distanceOf(parameters, unpackHours(stored), unpackHours(next)) >= LEAST_CHANGE
  );
}
