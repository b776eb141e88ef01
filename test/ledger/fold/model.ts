import { decide } from '../../../src/ledger/fold/decide.ts';
import {
  type Decision,
  conversionKey,
  type HeldEventId,
  type LogPlace,
  type Snapshot,
} from '../../../src/ledger/fold/snapshot.ts';
import {
  anonymousIdentityKey,
  parseRecord,
  playerIdentityKey,
  referenceKey,
  sentKey,
  type FoldEvent,
} from '../../../src/ledger/fold/fold-event.ts';
import { inBase, scalesOf, type Conversions } from '../../../src/ledger/money/conversion.ts';
import { byKind, effectOf } from '../../../src/ledger/money/counting.ts';
import type { LedgerRow } from '../../../src/ledger/money/ledger.ts';
import { SUMS, TotalsAccumulator, type Sum } from '../../../src/ledger/money/totals.ts';
import { encodeAccepted } from '../../../src/ingest/events/envelope.ts';
import type { SentEvent } from '../../oracle/oracle.ts';
import { DECIMALS, OracleRates } from '../../oracle/rates.ts';
import { momentAt } from '../../oracle/streams.ts';

export const TENANT_ID = '01900000-0000-7000-8000-00000000000a';
const BASE = 'EUR';
export const PROJECT_ID = '01900000-0000-7000-8000-00000000000b';

/**
 * An event as the fold reads it from the log; `name`: its sender named it; `from_client`: a client key sent it. Throws when the
 * record is malformed.
 */
export function eventAt(sent: SentEvent, offset: number, name?: number, from_client = false): FoldEvent {
  const version = name === undefined ? 7 : 8;
  const stamp = {
    ingestion_id: `01900000-0000-${version}000-8000-${String(name ?? offset).padStart(12, '0')}`,
    tenant_id: TENANT_ID,
    project_id: PROJECT_ID,
    environment: 'dev',
    received_at_ms: Date.UTC(2026, 5, 1),
    ...(from_client ? { from_client } : {}),
  };
  const parsed = parseRecord({
    offset: BigInt(offset),
    key: 'any',
    value: encodeAccepted(stamp, 0, JSON.stringify(sent), name === undefined ? undefined : 'short'),
  });
  if ('event' in parsed) return parsed.event;
  throw new Error(parsed.rejection.message);
}

/** Rates that hold from some of the moments of a stream on. Other currencies have no rate. */
function usualRates(): OracleRates {
  const rates = new OracleRates();
  for (const [moment, rate] of [
    [3, '0.915'],
    [8, '0.933'],
  ] as const)
    rates.set({ base: 'USD', quote: BASE, ts_ms: momentAt(moment), rate });
  rates.set({ base: BASE, quote: 'ETH', ts_ms: momentAt(5), rate: '0.000333' });
  return rates;
}

/**
 * An in-memory replacement of Postgres for the fold: decisions use copies of its data, and their effects are written.
 */
export class MemoryStore {
  /** Identity key → player_id. */
  readonly players = new Map<string, string>();
  readonly ledger = new Map<string, LedgerRow[]>();
  readonly event_ids = new Map<string, HeldEventId>();
  readonly sent_ids = new Map<string, LogPlace>();
  readonly totals = new Map<string, Record<Sum, bigint>>();
  readonly #rates: OracleRates;
  #ids = 0;

  constructor(rates = usualRates()) {
    this.#rates = rates;
  }

  identify(anonymous_id: string, player_id: string): void {
    this.players.set(anonymousIdentityKey(PROJECT_ID, anonymous_id), player_id);
    this.players.set(playerIdentityKey(PROJECT_ID, player_id), player_id);
  }

  /** A copy, because a decision changes its snapshot. */
  snapshot(): Snapshot {
    return {
      players: new Map(this.players),
      ledger: new Map([...this.ledger].map(([key, rows]) => [key, [...rows]])),
      projects: new Map([
        [PROJECT_ID, { tenant_id: TENANT_ID, project_no: 1, base_currency: BASE, kyc_model: 'none' }],
      ]),
      conversions: new Map(),
      event_ids: new Map(this.event_ids),
      sent_ids: new Map(this.sent_ids),
      kyc: new Map(),
      erased: new Set(),
    };
  }

  /**
   * Decides the batch by what was `read`, or else by what there is, and writes its effects; throws where Postgres would
   * detect a write conflict.
   */
  fold(events: readonly FoldEvent[], partition = 0, read = this.snapshot()): Decision {
    const newId = () => `01900000-0000-7000-9000-${String(++this.#ids).padStart(12, '0')}`;
    const snapshot = { ...read, conversions: this.#conversionsOf(events) };
    const decision = decide(events, snapshot, { newId, partition });
    const { new_players, ledger_rows, event_ids, sent_ids, players } = decision.effects;
    for (const { anonymous_id, player_id } of new_players) this.identify(anonymous_id, player_id);
    for (const { event_key, player_id, log_partition, log_offset } of event_ids) {
      if (this.event_ids.has(event_key)) throw new Error(`${event_key} is claimed already`);
      this.event_ids.set(event_key, { player_id, log_partition, log_offset });
    }
    for (const { tenant_id, sent_id, log_partition, log_offset } of sent_ids) {
      const key = sentKey(tenant_id, sent_id);
      if (this.sent_ids.has(key)) throw new Error(`${sent_id} is claimed already`);
      this.sent_ids.set(key, { log_partition, log_offset });
    }
    for (const row of ledger_rows) {
      const key = referenceKey(PROJECT_ID, row.reference);
      const known = this.ledger.get(key) ?? [];
      if (row.ordinal !== known.length) throw new Error(`${row.reference} has a row ${row.ordinal} already`);
      this.ledger.set(key, [...known, row]);
    }
    for (const { player_id, sums } of players) this.#add(player_id, sums);
    return decision;
  }

  /** Merges the player of one anonymous_id into that of another, as identify does. */
  merge(from_anonymous_id: string, into_anonymous_id: string): void {
    const from = this.players.get(anonymousIdentityKey(PROJECT_ID, from_anonymous_id));
    const into = this.players.get(anonymousIdentityKey(PROJECT_ID, into_anonymous_id));
    if (from === undefined || into === undefined || from === into) return;
    for (const [key, player_id] of this.players) if (player_id === from) this.players.set(key, into);
    for (const row of [...this.ledger.values()].flat()) if (row.player_id === from) row.player_id = into;
    const sums = this.totals.get(from);
    this.totals.delete(from);
    if (sums !== undefined) this.#add(into, sums);
  }

  /** Converts every row by the rates as they are now, and corrects the totals by the difference, as the restater does. */
  restate(): void {
    const changes = new TotalsAccumulator();
    for (const [key, rows] of this.ledger) {
      const restated = rows.map((row) => {
        const conversion = this.#conversionOf(row.currency, row.occurred_at_ms);
        return { ...row, ...inBase(row, conversion), scales: scalesOf(conversion) };
      });
      for (const [of_rows, sign] of [[rows, -1n] as const, [restated, 1n] as const]) {
        for (const [kind, of_kind] of byKind(of_rows))
          for (const delta of effectOf(kind, of_kind).deltas) changes.add(delta, sign);
      }
      this.ledger.set(key, restated);
    }
    for (const [player_id, sums] of changes.byPlayer) this.#add(player_id, sums);
  }

  #add(player_id: string, sums: Record<Sum, bigint>): void {
    const total = this.totals.get(player_id) ?? { ...sums };
    if (this.totals.has(player_id)) for (const sum of SUMS) total[sum] += sums[sum];
    this.totals.set(player_id, total);
  }

  #conversionsOf(events: readonly FoldEvent[]): Snapshot['conversions'] {
    const conversions: Snapshot['conversions'] = new Map();
    for (const { accepted, claim, money = claim, occurred_at_ms } of events) {
      const conversion = this.#conversionOf(money?.currency ?? null, occurred_at_ms);
      if (conversion === undefined || conversion === 'same') continue;
      conversions.set(conversionKey(accepted.tenant_id, money?.currency ?? '', occurred_at_ms), conversion);
    }
    return conversions;
  }

  #conversionOf(currency: string | null, at_ms: number): Conversions {
    if (currency === null) return undefined;
    if (currency === BASE) return 'same';
    const rate = this.#rates.at(currency, BASE, at_ms);
    return rate && { ...rate, from_scale: DECIMALS[currency] ?? 0, to_scale: DECIMALS[BASE] ?? 0 };
  }

  /** The sums of every player, by anonymous identity. */
  totalsByIdentity(): Map<string, Record<Sum, bigint> | undefined> {
    const byIdentity = new Map<string, Record<Sum, bigint> | undefined>();
    for (const [key, player_id] of this.players) {
      if (key.startsWith('a:')) byIdentity.set(key, this.totals.get(player_id));
    }
    return byIdentity;
  }
}
