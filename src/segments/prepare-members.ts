import { LRUCache } from 'lru-cache';
import type { ProjectRef } from '../tenants/project-ref.ts';
import type { Platform } from '../wiring/platform.ts';
import {
  findBitmaps,
  hashMembers,
  makeBitmap,
  readMembersStates,
  type MembersState,
} from './bitmap-queries.ts';
import { copyPendingChanges } from './publish-changes.ts';
import { NO_BITMAPS, type Bitmaps } from './sql/condition-sql.ts';

type Deps = Pick<Platform, 'postgres' | 'clickhouse' | 'logger'>;

/** How long a question waits for bitmaps to be made, of all its segments; the next one makes further ones. */
const MAKING_MS = 10_000;
/** A segment whose bitmap could not be made is not tried again for so long. */
const UNPROVEN_MS = 2_000;
const unproven = new LRUCache<string, true>({ max: 10_000, ttl: UNPROVEN_MS });

/**
 * Makes ClickHouse ready for a question about the members of these segments: it copies the changes that are not published
 * yet, and makes those bitmaps that ClickHouse has not. With `is_preview` nothing is copied. The members of a segment
 * without a bitmap in the result are to be asked for by their ids. Rejects with EpochNotReady, and when Postgres cannot be
 * read; a bitmap that cannot be made is logged.
 *
 * A bitmap is named by what it contains and never changes, so several processes may make the same one, and a crash leaves
 * nothing that is wrong.
 */
export async function prepareMembers(
  deps: Deps,
  project: ProjectRef,
  segment_ids: readonly string[],
  { is_preview = false } = {},
): Promise<Bitmaps> {
  if (!is_preview) await copyPendingChanges(deps, project);
  if (segment_ids.length === 0) return NO_BITMAPS;
  const deadline_ms = performance.now() + MAKING_MS;
  const states = await readHashedStates(deps, project, segment_ids, deadline_ms);
  try {
    return await makeMissing(deps, project, states, deadline_ms);
  } catch (error) {
    logUnmade(deps, project, error);
    return NO_BITMAPS;
  }
}

/** The states of the members, with a hash where that was or could be computed before the deadline. */
async function readHashedStates(
  deps: Deps,
  project: ProjectRef,
  segment_ids: readonly string[],
  deadline_ms: number,
): Promise<MembersState[]> {
  const { service } = deps.postgres;
  const states = await readMembersStates(service, project, segment_ids);
  const unhashed = states.filter(
    ({ segment_id, members_hash }) => members_hash === undefined && !unproven.has(segment_id),
  );
  if (unhashed.length === 0) return states;
  for (const { segment_id } of unhashed) {
    if (performance.now() >= deadline_ms) break;
    await hashMembers(service, { ...project, segment_id }).catch((error: unknown) => {
      unproven.set(segment_id, true);
      logUnmade(deps, project, error);
    });
  }
  return readMembersStates(service, project, segment_ids);
}

/** Makes the bitmaps that ClickHouse has not; returns those that it has then, of the members that Postgres has then. */
async function makeMissing(
  deps: Deps,
  project: ProjectRef,
  states: readonly MembersState[],
  deadline_ms: number,
): Promise<Bitmaps> {
  const { clickhouse, postgres } = deps;
  const found = await findBitmaps(clickhouse, project, states);
  const missing = states.filter(
    ({ segment_id, members_hash }) =>
      members_hash !== undefined && !found.has(segment_id) && !unproven.has(segment_id),
  );
  if (missing.length === 0) return bitmapsOf(states, found);
  const tried: string[] = [];
  for (const one of missing) {
    const limit_s = Math.ceil((deadline_ms - performance.now()) / 1_000);
    if (limit_s <= 0) break;
    tried.push(one.segment_id);
    await makeBitmap(clickhouse, project, one, limit_s).catch((error: unknown) =>
      logUnmade(deps, project, error),
    );
  }
  const ids = states.map(({ segment_id }) => segment_id);
  const present = await readMembersStates(postgres.service, project, ids);
  const made = await findBitmaps(clickhouse, project, present);
  for (const segment_id of tried) if (!made.has(segment_id)) unproven.set(segment_id, true);
  return bitmapsOf(present, made);
}

function bitmapsOf(states: readonly MembersState[], found: ReadonlySet<string>): Bitmaps {
  const hashes = states
    .filter(({ segment_id }) => found.has(segment_id))
    .map(({ segment_id, members_hash = '' }) => [segment_id, members_hash] as const);
  return { numbering: states[0]?.numbering ?? NO_BITMAPS.numbering, hashes: new Map(hashes) };
}

function logUnmade({ logger }: Deps, { project_id }: ProjectRef, error: unknown): void {
  logger.warn(
    { err: error, project_id },
    'bitmaps of members could not be made; the members are asked for by their ids',
  );
}
