import { setTimeout as sleep } from 'node:timers/promises';
import type { Platform } from '../platform/platform.ts';
import {
  beginEpoch,
  epochInClickHouse,
  hasFutureIds,
  isBehindCopies,
  markEpochReady,
  readEpochState,
  readNewestCopies,
  noteAllPlayers,
  restampPages,
  restampTriggerEvents,
  type EpochState,
  REVISIONS_OF_EPOCH,
} from './epoch-queries.ts';
import { readMirrorPosition } from './mirror-queries.ts';
import { MIRRORS } from './mirrors.ts';

type Engines = Pick<Platform, 'postgres' | 'clickhouse' | 'logger'>;

/** The pause before rows are looked at again that others are writing. */
const LOCKED_PAUSE_MS = 100;

/** What a process remembers between two calls of {@link ensureEpoch}. */
export interface EpochMemory {
  /** Whether ClickHouse was compared with Postgres. */
  is_compared: boolean;
  /** The highest transaction id that this process has seen committed. */
  seen_xid: bigint;
  /** The epoch and {@link EpochState.horizon_xid} when the mirror last found nothing to copy. */
  idle_at?: string;
}

/** The memory of a mirror that starts. */
export function newEpochMemory(): EpochMemory {
  return { is_compared: false, seen_xid: 0n };
}

/**
 * Called by a mirror before each turn. Begins a new epoch when this is another database than before, or an earlier copy
 * of the same one: then the transaction ids that ClickHouse and the mirrors know say nothing about those to come. Rows
 * with ids from the future get present ones in short transactions, and the mirrors start from the beginning. Returns
 * the epoch and {@link EpochState.horizon_xid} as one text.
 */
export async function ensureEpoch(engines: Engines, memory: EpochMemory): Promise<string> {
  const { service } = engines.postgres;
  let state = await readEpochState(service);
  const reason = await reasonForNewEpoch(engines, state, memory);
  if (reason !== undefined) {
    await startEpoch(engines, state, reason);
    state = await readEpochState(service);
    memory.seen_xid = 0n;
  }
  memory.is_compared = true;
  if (!state.is_ready && state.epoch !== undefined) {
    await restampAll(engines);
    await markEpochReady(service, state.epoch);
  }
  return `${state.epoch} ${state.horizon_xid}`;
}

/** Whether the mirrors work under an epoch of this database. Before the first one there are none to wait for. */
export async function isEpochCurrent({ postgres }: Pick<Engines, 'postgres'>): Promise<boolean> {
  const { epoch, identity, epoch_identity, is_ready } = await readEpochState(postgres.service);
  if (epoch === undefined) return true;
  return identity === epoch_identity && is_ready && !(await hasFutureIds(postgres.service));
}

/** For how long a process believes that the epoch is current: a database is replaced while its processes are stopped. */
const BELIEVED_MS = 1_000;
const believed_until_ms = new WeakMap<object, number>();

/**
 * Whether revisions may be written now: {@link isEpochCurrent}, asked at most once per second while it is true. The
 * revisions of an earlier epoch may be below those that ClickHouse has, and then change nothing there. Ask before the
 * revisions are read.
 */
export async function mayWriteRevisions({ postgres }: Pick<Engines, 'postgres'>): Promise<boolean> {
  if ((believed_until_ms.get(postgres) ?? Number.NEGATIVE_INFINITY) > performance.now()) return true;
  if (!(await isEpochCurrent({ postgres }))) return false;
  believed_until_ms.set(postgres, performance.now() + BELIEVED_MS);
  return true;
}

async function reasonForNewEpoch(
  engines: Engines,
  state: EpochState,
  memory: EpochMemory,
): Promise<string | undefined> {
  if (state.epoch === undefined) return 'the first epoch';
  if (state.identity !== state.epoch_identity)
    return `it was ${state.epoch_identity}, and is ${state.identity}`;
  if (memory.seen_xid >= state.next_xid) return 'its transaction ids went back';
  if (memory.is_compared) return undefined;
  if (state.is_ready && (await hasFutureIds(engines.postgres.service)))
    return 'it has transaction ids from the future';
  if (await isBehindClickHouse(engines, state)) return 'it is an earlier copy of what ClickHouse has';
  return undefined;
}

async function isBehindClickHouse({ postgres, clickhouse }: Engines, state: EpochState): Promise<boolean> {
  const epoch = BigInt(state.epoch ?? 0);
  for (const { name, copies } of MIRRORS) {
    const position = await readMirrorPosition(postgres.service, name);
    const above = epoch * REVISIONS_OF_EPOCH + BigInt(position.changed_xid);
    for (const copy of copies) {
      const rows = await readNewestCopies(clickhouse, copy, above);
      const newest = BigInt(rows[0]?.revision ?? 0);
      if (newest >= epoch * REVISIONS_OF_EPOCH + state.next_xid) return true;
      if (await isBehindCopies(postgres.service, copy, rows)) return true;
    }
  }
  return false;
}

async function startEpoch(engines: Engines, state: EpochState, reason: string): Promise<void> {
  const { postgres, clickhouse, logger } = engines;
  const { epoch: latest, identity } = state;
  const copied = await epochInClickHouse(clickhouse);
  const is_fresh =
    latest === undefined &&
    copied === 0 &&
    !(await hasFutureIds(postgres.service)) &&
    !(await isBehindClickHouse(engines, state));
  const epoch = is_fresh ? 0 : Math.max(latest ?? 0, copied) + 1;
  const names = MIRRORS.map(({ name }) => name);
  const begun = await beginEpoch(postgres.service, latest, { epoch, identity }, names);
  if (!begun || epoch === 0) return;
  logger.warn(
    { epoch, identity, reason },
    'a new epoch of the database begins: players, messages and runs of journeys are copied to ClickHouse again; run reconcile',
  );
}

/** Gives every row from the future a present transaction id, and has player-mirror copy every player again. */
async function restampAll({ postgres }: Engines): Promise<void> {
  const { service } = postgres;
  await restamp(() => noteAllPlayers(service));
  await restamp(() => restampPages(service));
  while (await hasFutureIds(service)) {
    await sleep(LOCKED_PAUSE_MS);
    await restampPages(service);
  }
  await restamp(() => restampTriggerEvents(service));
}

async function restamp(page: () => Promise<number>): Promise<void> {
  while ((await page()) > 0);
}
