import { waitUntilInClickHouse } from '../../src/analytics/caught-up.ts';
import { mayWriteRevisions } from '../../src/analytics/epoch.ts';
import {
  deleteCorrections,
  markMerges,
  noteAttempt,
  queueRecount,
  readCorrections,
  readEventLines,
  readMergesToAlias,
  readMergesToRewrite,
  repointEvents,
  rewriterWork,
  tryLockAsRewriter,
  writeAliases,
  type Correction,
  type EventLine,
  type EventLineKey,
} from '../../src/analytics/correction-queries.ts';
import { EVENT_MONEY, type EventMoney } from '../../src/ingest/events/envelope.ts';
import { selectErased } from '../../src/players/erasure/events-queries.ts';
import { rateEvents } from '../../src/engage/triggers/unrated-queries.ts';
import { referenceKey } from '../../src/ledger/fold/fold-event.ts';
import { readLedger } from '../../src/ledger/fold/read-queries.ts';
import { countsOf, eventMoneyOf } from '../../src/ledger/money/counting.ts';
import { itemOf, placedItem, takenItem } from '../../src/ledger/money/items.ts';
import { moneyKindOf, type Item } from '../../src/ledger/money/ledger.ts';
import { groupBy } from '../../src/platform/group-by.ts';
import { newId } from '../../src/platform/ids.ts';
import type { Session, Tx } from '../../src/platform/postgres/port.ts';
import { requireLocks } from '../../src/platform/postgres/session-locks.ts';
import { startPolling, type PollLoop } from '../../src/platform/poll-loop.ts';
import { EVERYTHING, readOfEvent } from '../../src/segments/dependencies.ts';
import { markDirty } from '../../src/segments/dirty-players.ts';
import { forgetEvaluated } from '../../src/segments/evaluated/evaluated-queries.ts';
import type { ProjectRef } from '../../src/tenants/project-ref.ts';
import type { Platform } from '../../src/platform/platform.ts';

const MAX_ALIASES = 5_000;
/** The query names all of them in its parameters, which are part of a URL of bounded length. */
const MAX_CORRECTIONS = 1_000;
/** Rows of history that are queued at once: fewer than one turn corrects. */
const RECOUNTED = 500;
const MAX_REWRITTEN = 1_000;
/** A rewrite has a cost per batch: merges wait this long for further ones, unless the batch is full. */
const REWRITE_AFTER_MS = 30_000;
const CATCH_UP_MS = 60_000;
/** While there are corrections, merges are rewritten only this long after the last rewrite, which may be as long. */
const CORRECTIONS_FIRST_MS = 600_000;
/** The amounts of an event that segments read. */
const VALUES = ['base_amount', 'base_payout', 'base_bonus_stake', 'base_bonus_payout'] as const;
/** ClickHouse's code for a statement over its time limit. */
const TIMED_OUT = '159';

/** What a rewriter remembers from turn to turn. */
interface RewriteState {
  /** The most merges of a rewrite: halved when a rewrite takes too long, and the full number after the backlog. */
  max_merges: number;
  /** When the last rewrite ended, on the monotonic clock. */
  rewritten_ms: number;
  /** The last tenant whose corrections were written. */
  tenant_id: string | undefined;
}

/** The state of a rewriter that starts. */
export function newRewriteState(): RewriteState {
  return { max_merges: MAX_REWRITTEN, rewritten_ms: Number.NEGATIVE_INFINITY, tenant_id: undefined };
}

/**
 * event-rewriter: changes of events after they were folded → ClickHouse. Restated amounts and merged players become
 * later revisions of the existing rows. One rewriter works at a time, because each revision is derived from the one
 * before; its lock holds no transaction open. A rewriter that has lost its lock writes nothing any more. After a crash
 * the batch is repeated, which only replaces rows by equal ones.
 */
export function startEventRewriter(platform: Platform): PollLoop {
  const work = platform.workWatch.watch(rewriterWork, platform.clock);
  const pauses = { idle_pause_ms: 250, longest_pause_ms: 10_000, work };
  const state = newRewriteState();
  return startPolling({ name: 'event-rewriter', logger: platform.logger, ...pauses }, (stop) =>
    rewriteOnce(platform, REWRITE_AFTER_MS, stop, state),
  );
}

/**
 * Does one batch of each kind; false when there was nothing to do. `rewrite_after_ms`: how long merges wait for further
 * ones. Rejects when something failed, and when `stop` ends a wait, because fold and sink may have ended before.
 * Corrections are written even when merges cannot be aliased, and before merges are rewritten: see `state`, in which a
 * rewrite that takes too long makes the following ones smaller.
 */
export async function rewriteOnce(
  platform: Platform,
  rewrite_after_ms = REWRITE_AFTER_MS,
  stop?: AbortSignal,
  state: RewriteState = newRewriteState(),
): Promise<boolean> {
  if ((await rewriterWork(platform.postgres.service)).length === 0) {
    state.max_merges = MAX_REWRITTEN;
    return false;
  }
  return platform.postgres.session(async (session) => {
    if (!(await tryLockAsRewriter(session))) return false;
    let failure: unknown;
    // Aliases have revisions; those of corrections follow from the rows themselves.
    const may_alias = await mayWriteRevisions(platform);
    const aliased = await (may_alias ? aliasMerges(platform, session) : Promise.resolve(false)).catch(
      (error: unknown) => {
        failure = error;
        return false;
      },
    );
    const corrected = await correctEvents(platform, session, state, stop);
    if (failure !== undefined) {
      if (!corrected) throw failure;
      // There may be more corrections; a rejection would delay them by the pause after a failure.
      platform.logger.warn({ err: failure }, 'merged players cannot be aliased');
    }
    // A rewrite may take minutes, in which no correction is written.
    if (corrected && performance.now() < state.rewritten_ms + CORRECTIONS_FIRST_MS) return true;
    const rewritten = may_alias && (await rewriteMerges(platform, session, rewrite_after_ms, state, stop));
    return aliased || corrected || rewritten;
  });
}

/** Adds aliases: from now on queries over many players resolve the old id to the survivor's. */
async function aliasMerges({ postgres, clickhouse, clock }: Platform, session: Session): Promise<boolean> {
  const merges = await readMergesToAlias(postgres.service, MAX_ALIASES);
  if (merges.length === 0) return false;
  await requireLocks(session);
  await writeAliases(postgres.service, clickhouse, merges, 0);
  // From now on the survivor has the other player's events: all segments must evaluate it.
  const survivors = merges.map((merge) => ({ ...merge, player_id: merge.into_player_id, reads: EVERYTHING }));
  await session.begin(async (tx) => {
    await forgetPlayers(tx, [...merges, ...survivors]);
    await markDirty(tx, survivors, new Date(clock.now_ms()));
    await markMerges(tx, merges, 'aliased_at');
  });
  return true;
}

async function correctEvents(
  platform: Platform,
  session: Session,
  state: RewriteState,
  stop: AbortSignal | undefined,
): Promise<boolean> {
  const corrections = await readCorrections(platform.postgres.service, MAX_CORRECTIONS, state.tenant_id);
  // A page of history at a time, while the queue is short: a steady stream of corrections does not end it.
  const is_recounting =
    corrections.length < MAX_CORRECTIONS && (await queueRecount(platform.postgres.service, RECOUNTED));
  if (corrections.length === 0) return is_recounting;
  // The rows to correct must be in ClickHouse: the fold may have written them to Postgres only a moment ago.
  await waitUntilInClickHouse(platform, platform.clock.now_ms() + CATCH_UP_MS, stop);
  const present = await readPresentMoney(platform.postgres.service, corrections);
  const ids = corrections.map(({ correction_id }) => correction_id);
  await noteAttempt(platform.postgres.service, ids);
  const changed = await writeCorrections(platform, session, present);
  await session.begin(async (tx) => {
    await forgetPlayers(tx, changed);
    await markDirty(tx, changed, new Date(platform.clock.now_ms()));
    await rateEvents(tx, present);
    await deleteCorrections(tx, ids);
  });
  state.tenant_id = corrections.at(-1)?.tenant_id;
  return true;
}

/** An event with the money that the ledger has of it now. */
interface PresentMoney extends EventLineKey, EventMoney {
  /** Whether a rate has converted it; 0 needs none. */
  is_rated: boolean;
  /** Whether an attempt to write it has begun before. */
  is_tried: boolean;
  /** What its bet was placed as; undefined where no placed row says it. */
  placed: Item | undefined;
}

/** What the ledger says now of the events of these rows: a row may count less because of others of its reference. */
async function readPresentMoney(sql: Tx, corrections: readonly Correction[]): Promise<PresentMoney[]> {
  const keyOf = ({ project_id, reference }: Correction) => referenceKey(project_id, reference);
  const references = new Map(corrections.map((correction) => [keyOf(correction), correction]));
  const ledger = await readLedger(sql, [...references.values()]);
  const counts = new Map([...ledger.values()].flatMap((rows) => [...countsOf(rows)]));
  return corrections.flatMap((correction) => {
    const rows = ledger.get(keyOf(correction)) ?? [];
    const row = rows.find(({ ordinal }) => ordinal === correction.ordinal);
    if (row === undefined) return [];
    const placed = placedItem(moneyKindOf(row.event), rows);
    const { tenant_id, project_id, event, occurred_at_ms, ingestion_id, event_index } = row;
    const key = { tenant_id, project_id, event, occurred_at_ms, ingestion_id, event_index };
    return [
      {
        ...key,
        ...eventMoneyOf(row, counts.get(row)),
        is_rated: row.rate !== null,
        is_tried: correction.is_tried,
        placed,
      },
    ];
  });
}

/**
 * Writes the money of the events. Returns the players of those whose amounts changed: segments do not read what counts. Those
 * of an earlier attempt are among them, since it may have changed the amounts.
 */
async function writeCorrections(
  { postgres, clickhouse, metrics, logger }: Platform,
  session: Session,
  present: PresentMoney[],
) {
  const keyOf = (event: PresentMoney) => `${event.ingestion_id} ${event.event_index}`;
  const wanted = new Map(present.map((event) => [keyOf(event), event]));
  const tried = new Set(present.filter(({ is_tried }) => is_tried).map(keyOf));
  const rows = await readEventLines(clickhouse, present);
  if (rows.length < wanted.size) {
    const missing = wanted.size - rows.length;
    logger.error({ missing }, 'ClickHouse lacks events that were restated: run reconcile with --repair');
  }
  const erased = await selectErased(
    postgres.service,
    rows.map((row) => row.player_id),
  );
  const changed: typeof rows = [];
  const lines = rows.map((row) => {
    const event = wanted.get(`${row.ingestion_id} ${row.event_index}`);
    const money = Object.fromEntries(EVENT_MONEY.map((name) => [name, event?.[name]?.toString() ?? null]));
    if (
      tried.has(`${row.ingestion_id} ${row.event_index}`) ||
      VALUES.some((name) => row[name] !== money[name])
    )
      changed.push(row);
    return JSON.stringify({
      ...row,
      // As numbers: in text, ClickHouse reads milliseconds before 2001 as seconds, and refuses those before 1970.
      occurred_at: Number(row.occurred_at),
      received_at: Number(row.received_at),
      ...money,
      ...(erased.has(row.player_id) ? {} : takenItem(itemOfLine(row), event?.placed)),
      revision: String(BigInt(row.revision) + 1n),
    });
  });
  // Each insert has a token of its own: a batch repeated after a crash writes the next revisions, no duplicates.
  await requireLocks(session);
  await clickhouse.insertLines('events', lines, newId());
  metrics.eventsCorrected.inc(lines.length);
  return changed.map((row) => ({ ...row, reads: readOfEvent(row.event) }));
}

/** Their segments are evaluated with what ClickHouse has of them now. */
async function forgetPlayers(
  tx: Tx,
  players: readonly (ProjectRef & { player_id: string })[],
): Promise<void> {
  for (const of_project of groupBy(players, ({ project_id }) => project_id).values()) {
    const [project] = of_project;
    const ids = of_project.map(({ player_id }) => player_id);
    if (project !== undefined) await forgetEvaluated(tx, project, ids);
  }
}

/** What the event itself says it is about. */
function itemOfLine({ event, properties }: EventLine): Item {
  return itemOf(event, JSON.parse(properties) as Record<string, unknown>);
}

/** Rewrites the rows of merged players to the survivors' ids, and then removes their aliases. */
async function rewriteMerges(
  platform: Platform,
  session: Session,
  rewrite_after_ms: number,
  state: RewriteState,
  stop: AbortSignal | undefined,
): Promise<boolean> {
  const { postgres, clickhouse, clock } = platform;
  const merges = await readMergesToRewrite(postgres.service, state.max_merges);
  const [oldest] = merges;
  if (oldest === undefined) {
    state.max_merges = MAX_REWRITTEN;
    return false;
  }
  if (merges.length < state.max_merges && oldest.waiting_ms < rewrite_after_ms) return false;
  // Events that the fold resolved to the old ids before the merge must be in ClickHouse.
  await waitUntilInClickHouse(platform, clock.now_ms() + CATCH_UP_MS, stop);
  try {
    await repointEvents(clickhouse, merges, () => requireLocks(session));
  } catch (error) {
    // The same batch would take too long again.
    if ((error as { code?: unknown }).code === TIMED_OUT) {
      state.max_merges = Math.max(1, Math.floor(merges.length / 2));
    }
    throw error;
  } finally {
    state.rewritten_ms = performance.now();
  }
  await requireLocks(session);
  await writeAliases(postgres.service, clickhouse, merges, 1);
  await session.begin((tx) => markMerges(tx, merges, 'rewritten_at'));
  return true;
}
