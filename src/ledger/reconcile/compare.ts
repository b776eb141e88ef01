import type { EventSums, LedgerRecomputation } from './recompute.ts';
import { MIRRORED, type MirroredValues } from '../../analytics/mirrored-columns.ts';
import type { CountedEvent, PostgresPlayer, Slice } from './queries.ts';
import type { Difference } from './schema.ts';

const FROM_LEDGER = [
  'total_deposited',
  'total_withdrawn',
  'total_wagered',
  'total_won',
  'bet_count',
] as const;
const SESSION_START = 'session_start';
const NOTHING: EventSums = { count: 0n, base_amount: 0n, base_payout: 0n };

/** The data of a slice's players: totals and ledger from Postgres, events and mirrored players from ClickHouse. */
export interface SliceFacts {
  slice: Slice;
  players: readonly PostgresPlayer[];
  ledger: LedgerRecomputation;
  counted: readonly CountedEvent[];
  mirrored: ReadonlyMap<string, MirroredValues>;
}

type Report = (part: Omit<Difference, 'tenant_id' | 'project_id'>) => void;

/** All differences of a slice. Pure, so that the rules can be read and tested without databases. */
export function compareSlice(facts: SliceFacts): Difference[] {
  const { tenant_id, project_id } = facts.slice;
  const found: Difference[] = [];
  const report: Report = (part) => found.push({ tenant_id, project_id, ...part });
  const players = new Map(facts.players.map((player) => [player.player_id, player]));
  compareTotals(facts, players, report);
  compareEvents(facts, players, report);
  compareMirror(facts, players, report);
  return found;
}

function compareTotals(
  { ledger }: SliceFacts,
  players: ReadonlyMap<string, PostgresPlayer>,
  report: Report,
): void {
  for (const player_id of new Set([...players.keys(), ...ledger.totals.byPlayer.keys()])) {
    const player = players.get(player_id);
    const expected = ledger.totals.byPlayer.get(player_id);
    const check = (field: string, wanted: bigint, held: string) => {
      if (String(wanted) === held) return;
      const cause =
        player === undefined
          ? 'the ledger has rows of a player without totals'
          : 'the totals are not what the ledger rows add up to';
      report({ check: 'ledger', player_id, field, expected: String(wanted), actual: held, cause });
    };
    for (const field of FROM_LEDGER) check(field, expected?.[field] ?? 0n, player?.mirrored[field] ?? '0');
    check(
      'pending_conversions',
      expected?.pending_conversions ?? 0n,
      String(player?.pending_conversions ?? 0n),
    );
  }
}

function compareEvents(
  { ledger, counted }: SliceFacts,
  players: ReadonlyMap<string, PostgresPlayer>,
  report: Report,
): void {
  const expected = new Map<string, { player_id: string; event: string; sums: EventSums }>();
  for (const [player_id, events] of ledger.events) {
    for (const [event, sums] of events) expected.set(`${player_id} ${event}`, { player_id, event, sums });
  }
  for (const [player_id, { mirrored }] of players) {
    const sums = { ...NOTHING, count: BigInt(mirrored.session_count ?? '0') };
    expected.set(`${player_id} ${SESSION_START}`, { player_id, event: SESSION_START, sums });
  }
  for (const { player_id, event, ...actual } of counted) {
    const key = `${player_id} ${event}`;
    const sums = expected.get(key)?.sums ?? NOTHING;
    expected.delete(key);
    compareSums(player_id, event, sums, actual, report);
  }
  const none = { count: '0', base_amount: '0', base_payout: '0' };
  for (const { player_id, event, sums } of expected.values())
    compareSums(player_id, event, sums, none, report);
}

/** Reports a wrong number of rows, or else wrong sums: a wrong number explains wrong sums. */
function compareSums(
  player_id: string,
  event: string,
  expected: EventSums,
  actual: Omit<CountedEvent, 'player_id' | 'event'>,
  report: Report,
): void {
  const surplus = BigInt(actual.count) - expected.count;
  if (surplus !== 0n) {
    const cause =
      surplus < 0n
        ? `ClickHouse lacks ${-surplus} of its events`
        : `ClickHouse has ${surplus} events too many`;
    report({
      check: 'events',
      player_id,
      field: `${event}.count`,
      expected: String(expected.count),
      actual: actual.count,
      cause,
    });
    return;
  }
  for (const sum of ['base_amount', 'base_payout'] as const) {
    if (String(expected[sum]) === actual[sum]) continue;
    const cause = 'the events in ClickHouse carry other amounts than the ledger';
    const field = `${event}.${sum}`;
    report({
      check: 'events',
      player_id,
      field,
      expected: String(expected[sum]),
      actual: actual[sum],
      cause,
    });
  }
}

function compareMirror(
  { mirrored }: SliceFacts,
  players: ReadonlyMap<string, PostgresPlayer>,
  report: Report,
): void {
  const check = 'mirror';
  for (const [player_id, player] of players) {
    const copy = mirrored.get(player_id);
    const { revision } = player.mirrored;
    if (copy === undefined) {
      const cause = 'ClickHouse does not have the player';
      report({ check, player_id, field: 'revision', expected: revision, actual: null, cause });
      continue;
    }
    const cause =
      copy.revision === revision
        ? 'the copy in ClickHouse has the right revision and another value'
        : 'the copy in ClickHouse is of another revision';
    for (const { name, kind } of MIRRORED) {
      const [expected, actual] = [player.mirrored[name], copy[name]];
      const asNumbers = kind === 'float' && expected !== null && actual !== null;
      const equal = asNumbers ? Number(expected) === Number(actual) : expected === actual;
      if (!equal) report({ check, player_id, field: name, expected, actual, cause });
    }
  }
  for (const [player_id, { revision }] of mirrored) {
    if (players.has(player_id)) continue;
    const cause = 'Postgres does not have the player';
    report({ check, player_id, field: 'revision', expected: null, actual: revision, cause });
  }
}
