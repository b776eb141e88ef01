import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventChoice, Population } from '../../../../src/analytics/insights/kinds/events-queries.ts';
import type { Statement } from '../../../../src/analytics/insights/kind.ts';
import { migrateClickHouse } from '../../../../src/platform/clickhouse/migrate.ts';
import { readPartialDefinition } from '../../../../src/segments/language/definition.ts';
import { isGroup } from '../../../../src/segments/language/conditions.ts';
import { Bindings } from '../../../../src/segments/sql/bindings.ts';
import type { ProjectRef } from '../../../../src/tenants/project-ref.ts';
import { SEED } from '../../../engines/effort.ts';
import { openTestClickHouse } from '../../../engines/wiring.ts';

/** An event as the oracles read it: of whom it is now, and what it adds. Amounts are of the base currency. */
export interface KnownEvent {
  player_id: string;
  event: string;
  at_ms: number;
  amount?: number;
  stake?: number;
  payout?: number;
  properties?: Record<string, string | number>;
}

/** A player as it is known; `former_id`: a merged player's, under which half of the events are still stored. */
export interface KnownPlayer {
  player_id: string;
  former_id?: string;
  is_deleted: boolean;
  first_seen_ms: number;
  tier: string | null;
}

const INSERTED_AT_ONCE = 20_000;

/** Draws from a seed: the same numbers at each run. */
export class Draw {
  #state: number;

  constructor(seed = SEED) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to below `count`. */
  below(count: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * count);
  }

  of<T>(values: readonly T[]): T {
    if (values.length === 0) throw new Error('there is nothing to draw from');
    return values[this.below(values.length)] as T;
  }
}

/** Draws players: one in twenty is deleted, one in ten has taken over another. */
export function drawPlayers(draw: Draw, count: number, first_seen: () => number): KnownPlayer[] {
  return Array.from({ length: count }, () => ({
    player_id: randomUUID(),
    ...(draw.below(10) === 0 ? { former_id: randomUUID() } : {}),
    is_deleted: draw.below(20) === 0,
    first_seen_ms: first_seen(),
    tier: draw.of(['gold', 'silver', 'bronze', 'iron', null]),
  }));
}

/** An empty ClickHouse with the schema, and how the tests of kinds fill and ask it. */
export async function openKinds() {
  const dir = await mkdtemp(join(tmpdir(), 'engagement-insights-'));
  const clickhouse = await openTestClickHouse(dir);
  await migrateClickHouse(clickhouse);
  const insert = async (table: string, rows: readonly Record<string, unknown>[]) => {
    for (let i = 0; i < rows.length; i += INSERTED_AT_ONCE) {
      const lines = rows.slice(i, i + INSERTED_AT_ONCE).map((row) => JSON.stringify(row));
      await clickhouse.insertLines(table, lines, randomUUID());
    }
  };
  return {
    clickhouse,
    /** Stores players and events as they are after merges: some rows have replaced others, some still have the old id. */
    async store(project: ProjectRef, players: readonly KnownPlayer[], events: readonly KnownEvent[]) {
      const first_deposits = new Map<string, number>();
      for (const { player_id, event, at_ms } of events)
        if (event === 'deposit_confirmed')
          first_deposits.set(player_id, Math.min(first_deposits.get(player_id) ?? at_ms, at_ms));
      const former = new Map(players.map(({ player_id, former_id }) => [player_id, former_id]));
      const rows = events.map(({ player_id, event, at_ms, amount, stake, payout, properties }, i) => ({
        ...project,
        event,
        player_id: i % 2 === 0 ? (former.get(player_id) ?? player_id) : player_id,
        occurred_at: at_ms,
        received_at: at_ms,
        ingestion_id: randomUUID(),
        event_index: 0,
        base_amount: amount ?? null,
        stake_counted: stake ?? 0,
        payout_counted: payout ?? 0,
        properties: JSON.stringify(properties ?? {}),
        revision: 1,
      }));
      const replaced = rows
        .filter((_, i) => i % 3 === 0)
        .map((row) => ({ ...row, player_id: randomUUID(), base_amount: 7, stake_counted: 9, revision: 0 }));
      const merged = players.flatMap(({ player_id, former_id }) =>
        former_id === undefined
          ? []
          : [{ ...project, player_id: former_id, into_player_id: player_id, revision: 1 }],
      );
      await insert(
        'players',
        players.map((player) => playerRow(project, player, first_deposits.get(player.player_id) ?? null)),
      );
      await insert('events', rows);
      await insert('events', replaced);
      await insert('player_aliases', merged);
      await clickhouse.command('system reload dictionary player_alias');
    },
    ask: <Row>(project: ProjectRef, { sql, params }: Statement) =>
      clickhouse.query<Row>(sql, { ...params, ...project, now_ms: 0 }),
    async close() {
      await clickhouse.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
export type Kinds = Awaited<ReturnType<typeof openKinds>>;

function playerRow(
  project: ProjectRef,
  player: KnownPlayer,
  first_deposit_at: number | null,
): Record<string, unknown> {
  const { player_id, is_deleted, first_seen_ms, tier } = player;
  return {
    ...project,
    player_id,
    external_id: null,
    status: is_deleted ? 'deleted' : 'active',
    default_currency_code: 'EUR',
    current_tier_code: tier,
    kyc_status: 'none',
    custom_attributes: '{}',
    first_seen_at: first_seen_ms,
    last_seen_at: first_seen_ms,
    first_deposit_at,
    created_at: first_seen_ms,
    deleted_at: is_deleted ? first_seen_ms : null,
    revision: 1,
  };
}

export function newProject(): ProjectRef {
  return { tenant_id: randomUUID(), project_id: randomUUID() };
}

/** Everyone, or those of whom the conditions hold. */
export function everyone(owners = '', events = '', params: Record<string, unknown> = {}): Population {
  return { bindings: new Bindings(), filter: { events, owners, params } };
}

/** Events of a name, all or those that have a property of at least this number. */
export function chosen(event: string, at_least?: { property: string; value: number }): EventChoice {
  if (at_least === undefined) return { event, where: [] };
  const where = [{ property: at_least.property, op: 'gte', value: at_least.value }];
  const node = readPartialDefinition({ type: 'event', event, aggregate: 'count', op: 'gt', value: 0, where });
  if ('issues' in node || isGroup(node) || node.type !== 'event') throw new Error('the clause is unusable');
  return { event, where: node.where };
}

/** The pairs in the order of their ids. */
export function byId<Pair extends readonly [id: string, ...rest: unknown[]]>(pairs: readonly Pair[]): Pair[] {
  return pairs.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
