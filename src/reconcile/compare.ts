import type { Column, CopiedRow } from './copy-source-queries.ts';
import type { Difference } from './schema.ts';
import type { ChangedPlayer, DifferingSum } from './sums-queries.ts';

/**
 * The differences that a sum shows which its sources do not agree about. Pure. Of a player that was written since the
 * run began only missing events are sure: ClickHouse was read last. Under the id of a merged player `events_by_player`
 * may have events that were emitted again after the merge; the survivor has them, too, and readers take them once.
 */
export function differencesOfSum(
  sum: DifferingSum,
  isCounted: (sum: DifferingSum) => boolean,
  changed: Pick<ChangedPlayer, 'is_gone' | 'is_recent'> | undefined,
): Difference[] {
  const { tenant_id, project_id, player_id, event, field } = sum;
  const of = { tenant_id, project_id, player_id };
  const { is_gone = false, is_recent = false } = changed ?? {};
  if (event === '') {
    if (is_recent) return [];
    const cause = 'the totals are not what the ledger rows add up to';
    return [{ check: 'ledger', table: null, ...of, field, expected: sum.ledger, actual: sum.totals, cause }];
  }
  const differing = (table: 'events' | 'events_by_player', wanted: bigint): Difference[] => {
    const actual = BigInt(sum[table]);
    const is_sure = !is_recent || (!is_gone && field === 'count' && actual < wanted);
    const is_repeated = is_gone && table === 'events_by_player';
    if (actual === wanted || !is_sure || is_repeated) return [];
    const [expected, found] = [String(wanted), String(actual)];
    const cause = causeOf(field, actual - wanted);
    return [{ check: 'events', table, ...of, field: `${event}.${field}`, expected, actual: found, cause }];
  };
  if (isCounted(sum)) {
    return [...differing('events', BigInt(sum.ledger)), ...differing('events_by_player', BigInt(sum.ledger))];
  }
  // Nothing in Postgres accounts for these events: the table with fewer of them has lost some. `events` is read first, so
  // of a player that was written meanwhile it may have fewer without having lost one.
  const [first, second] = [BigInt(sum.events), BigInt(sum.events_by_player)];
  if (first < second) return is_recent ? [] : differing('events', second);
  return differing('events_by_player', first);
}

function causeOf(field: string, surplus: bigint): string {
  if (field !== 'count') return 'the events in ClickHouse carry other amounts than the ledger';
  return surplus < 0n
    ? `ClickHouse lacks ${-surplus} of its events`
    : `ClickHouse has ${surplus} events too many`;
}

/** Whether two rows with one key have equal values; undefined: there is no row. */
export function isSame(
  columns: readonly Column[],
  one: CopiedRow | undefined,
  other: CopiedRow | undefined,
): boolean {
  if (one === undefined || other === undefined) return one === other;
  return columns.every(({ kind }, i) => isEqual(kind, one.values[i] ?? null, other.values[i] ?? null));
}

function isEqual(kind: Column['kind'], one: string | null, other: string | null): boolean {
  if (kind === 'float' && one !== null && other !== null) return Number(one) === Number(other);
  return one === other;
}

/** What differs between a row and its copy: a field of a difference with its values and cause. Pure. */
export function differencesOfCopy(
  columns: readonly Column[],
  row: CopiedRow | undefined,
  copy: CopiedRow | undefined,
): (Pick<Difference, 'expected' | 'actual' | 'cause'> & { column?: string })[] {
  const at = columns.findIndex(({ name }) => name === 'revision');
  const revisionOf = (of: CopiedRow) => (at < 0 ? 'present' : (of.values[at] ?? null));
  if (row === undefined || copy === undefined) {
    const [present, what] = [row ?? copy, columns.length === 0 ? 'member' : at < 0 ? 'row' : 'player'];
    if (present === undefined) return [];
    return row === undefined
      ? [{ expected: null, actual: revisionOf(present), cause: `Postgres does not have the ${what}` }]
      : [{ expected: revisionOf(present), actual: null, cause: `ClickHouse does not have the ${what}` }];
  }
  const cause =
    at < 0
      ? 'the copy in ClickHouse has another value'
      : row.values[at] === copy.values[at]
        ? 'the copy in ClickHouse has the right revision and another value'
        : 'the copy in ClickHouse is of another revision';
  return columns.flatMap(({ name, kind }, i) => {
    const [expected, actual] = [row.values[i] ?? null, copy.values[i] ?? null];
    return isEqual(kind, expected, actual) ? [] : [{ column: name, expected, actual, cause }];
  });
}
