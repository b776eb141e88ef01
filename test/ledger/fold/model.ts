import { decide } from '../../../src/ledger/fold/decide.ts';
import { type Decision, conversionKey, type Snapshot } from '../../../src/ledger/fold/snapshot.ts';
import {
  anonymousIdentityKey,
  parseRecord,
  playerIdentityKey,
  referenceKey,
  type FoldEvent,
} from '../../../src/ledger/fold/fold-event.ts';
import type { Conversion } from '../../../src/ledger/money/conversion.ts';
import type { LedgerRow } from '../../../src/ledger/money/ledger.ts';
import { SUMS, type Sum } from '../../../src/ledger/money/totals.ts';
import { encodeAccepted } from '../../../src/ingest/events/envelope.ts';
import type { SentEvent } from '../../oracle/oracle.ts';

export const TENANT_ID = '01900000-0000-7000-8000-00000000000a';
export const PROJECT_ID = '01900000-0000-7000-8000-00000000000b';

/** An event as the fold reads it from the log. Throws when the record is malformed. */
export function eventAt(sent: SentEvent, offset: number): FoldEvent {
  const stamp = {
    ingestion_id: `01900000-0000-7000-8000-${String(offset).padStart(12, '0')}`,
    tenant_id: TENANT_ID,
    project_id: PROJECT_ID,
    environment: 'dev',
    received_at_ms: Date.UTC(2026, 5, 1),
  };
  const parsed = parseRecord({
    offset: BigInt(offset),
    key: 'any',
    value: encodeAccepted(stamp, 0, JSON.stringify(sent)),
  });
  if ('event' in parsed) return parsed.event;
  throw new Error(parsed.rejection.message);
}

/** Rates that exist in every second hour only. Other currencies have no rate. */
const CONVERSIONS: Readonly<Record<string, Omit<Conversion, 'ts_ms'>>> = {
  USD: { rate: '0.915', is_inverse: false, from_scale: 2, to_scale: 2 },
  ETH: { rate: '0.000333', is_inverse: true, from_scale: 18, to_scale: 2 },
};
const HOUR_MS = 3_600_000;

function conversionsOf(events: readonly FoldEvent[]): Snapshot['conversions'] {
  const conversions: Snapshot['conversions'] = new Map();
  for (const { accepted, claim, money = claim, occurred_at_ms } of events) {
    const hour = Math.floor(occurred_at_ms / HOUR_MS);
    const conversion = CONVERSIONS[money?.currency ?? ''];
    if (conversion === undefined || hour % 2 === 1) continue;
    const key = conversionKey(accepted.tenant_id, money?.currency ?? '', occurred_at_ms);
    conversions.set(key, { ...conversion, ts_ms: hour * HOUR_MS });
  }
  return conversions;
}

/**
 * An in-memory replacement of Postgres for the fold: decisions use copies of its data, and their effects are written.
 */
export class MemoryStore {
  /** Identity key → player_id. */
  readonly players = new Map<string, string>();
  readonly ledger = new Map<string, LedgerRow[]>();
  readonly totals = new Map<string, Record<Sum, bigint>>();
  #ids = 0;

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
        [PROJECT_ID, { tenant_id: TENANT_ID, project_no: 1, base_currency: 'EUR', kyc_model: 'none' }],
      ]),
      conversions: new Map(),
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
    const snapshot = { ...read, conversions: conversionsOf(events) };
    const decision = decide(events, snapshot, { newId, partition });
    const { new_players, ledger_rows, players } = decision.effects;
    for (const { anonymous_id, player_id } of new_players) this.identify(anonymous_id, player_id);
    for (const row of ledger_rows) {
      const key = referenceKey(PROJECT_ID, row.reference);
      const known = this.ledger.get(key) ?? [];
      if (row.ordinal !== known.length) throw new Error(`${row.reference} has a row ${row.ordinal} already`);
      this.ledger.set(key, [...known, row]);
    }
    for (const { player_id, sums } of players) {
      const total = this.totals.get(player_id) ?? { ...sums };
      if (this.totals.has(player_id)) for (const sum of SUMS) total[sum] += sums[sum];
      this.totals.set(player_id, total);
    }
    return decision;
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
