import { call, callInternal, type InternalApi, type ProvisionedTenant } from '../../scripts/service-api.ts';
import type { LetterResource } from '../../src/ingest/dead-letters/schema.ts';
import { openEmbeddedClickHouse } from '../../src/platform/clickhouse/embedded.ts';
import type { ClickHouse } from '../../src/platform/clickhouse/port.ts';
import type { ReconcileReport } from '../../src/reconcile/schema.ts';
import type { ExpectedTotals, Model } from './model.ts';

const CATCH_UP_MS = 120_000;
const SUMS = [
  'total_deposited',
  'total_withdrawn',
  'total_wagered',
  'total_won',
  'total_bonus_wagered',
  'total_bonus_won',
  'total_credited',
  'total_debited',
  'bet_count',
  'pending_conversions',
  'ggr',
  'ngr',
] as const;

/** A player as the API shows it, as far as these tests read it. */
export type Player = Record<(typeof SUMS)[number] | 'session_count', number> & {
  id: string;
  anonymous_ids: string[];
  status: string;
  segment_ids: string[];
};

/** Checks the running service through its reconciliation, dead letters and players. Returns the mismatches. */
export async function verifyService(
  api: InternalApi,
  tenant: ProvisionedTenant,
  model: Model,
): Promise<string[]> {
  // Reconciliation waits until every accepted event is folded, in ClickHouse and mirrored.
  const { data: report } = await callInternal<{ data: ReconcileReport }>(api, 'reconcile', {
    method: 'POST',
    body: { wait_ms: CATCH_UP_MS },
  });
  const wrong = report.listed.map(
    (d) =>
      `reconcile: ${d.check} ${d.player_id} ${d.field} expected ${d.expected}, found ${d.actual}: ${d.cause}`,
  );
  const { data: letters } = await callInternal<{ data: LetterResource[] }>(api, 'dead-letters?limit=200');
  wrong.push(...letters.map(({ reason, message, value }) => `dead letter: ${reason} ${message}: ${value}`));
  const expected = model.expected();
  for (const player of await readPlayers(api, tenant)) {
    const name = player.anonymous_ids.join(',');
    const totals = expected.get(name);
    expected.delete(name);
    if (totals !== undefined) wrong.push(...compareTotals(name, totals, player));
    // Players without expected totals: all their events lack an id and an answer, or do not count.
    else if (SUMS.some((sum) => player[sum] !== 0)) wrong.push(`player ${name} has totals without events`);
  }
  for (const [name, totals] of expected) {
    const isOptional = SUMS.every((sum) => totals[sum] === 0) && totals.sessions.least === 0;
    if (!isOptional) wrong.push(`player ${name} is missing`);
  }
  return wrong;
}

function compareTotals(name: string, expected: ExpectedTotals, player: Player): string[] {
  const wrong = SUMS.filter((sum) => expected[sum] !== player[sum]).map(
    (sum) => `player ${name}: ${sum} expected ${expected[sum]}, found ${player[sum]}`,
  );
  const { least, most } = expected.sessions;
  if (player.session_count < least || player.session_count > most) {
    wrong.push(`player ${name}: session_count expected ${least} to ${most}, found ${player.session_count}`);
  }
  return wrong;
}

/** Every player of the tenant, over all pages. */
export async function readPlayers(api: InternalApi, tenant: ProvisionedTenant): Promise<Player[]> {
  const players: Player[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: { data: Player[]; meta: { next_cursor: string | null } } = await call(
      `${api.base_url}/v1/players?limit=200${after}`,
      { headers: { authorization: `Bearer ${tenant.session_token}` } },
    );
    players.push(...page.data);
    cursor = page.meta.next_cursor;
  }
  return players;
}

/**
 * Opens the ClickHouse folder of the stopped service and compares its rows with the model, event by event. Returns the
 * mismatches, and the number of rows beyond one per event before ClickHouse merges them away.
 */
export async function verifyEngines(
  clickhouse_dir: string,
  tenant: ProvisionedTenant,
  model: Model,
): Promise<{ differences: string[]; repeated_rows: number }> {
  const clickhouse = await openEmbeddedClickHouse(clickhouse_dir);
  try {
    return await verifyEvents(clickhouse, tenant, model);
  } finally {
    await clickhouse.close();
  }
}

/** The same comparison on an open ClickHouse. */
export async function verifyEvents(
  clickhouse: ClickHouse,
  { tenant_id }: ProvisionedTenant,
  model: Model,
): Promise<{ differences: string[]; repeated_rows: number }> {
  const differences: string[] = [];
  let repeated_rows = 0;
  for (const table of ['events', 'events_by_player'] as const) {
    const found = await countRows(clickhouse, table, tenant_id);
    repeated_rows += found.repeated_rows;
    differences.push(...compareRows(table, found.counts, model));
  }
  return { differences, repeated_rows };
}

async function countRows(
  clickhouse: ClickHouse,
  table: 'events' | 'events_by_player',
  tenant_id: string,
): Promise<{ counts: Map<number, number>; repeated_rows: number }> {
  // The events by which the service reports its own messages do not belong to the load.
  const where = "where tenant_id = {tenant_id:UUID} and not startsWith(event, 'email_')";
  const rows = await clickhouse.query<{ n: string; rows: string }>(
    `select JSONExtractUInt(properties, 'n') as n, count() as rows from ${table} final ${where} group by n`,
    { tenant_id },
  );
  const [raw] = await clickhouse.query<{ rows: string }>(`select count() as rows from ${table} ${where}`, {
    tenant_id,
  });
  const counts = new Map(rows.map((row) => [Number(row.n), Number(row.rows)]));
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return { counts, repeated_rows: Number(raw?.rows ?? 0) - total };
}

/** An event with an id has one row. One without has a row per 202, and at most one more per missing answer. */
function compareRows(table: string, counts: Map<number, number>, model: Model): string[] {
  const wrong: string[] = [];
  for (const { n, has_id, accepted, ambiguous, body } of model.events) {
    const count = counts.get(n) ?? 0;
    counts.delete(n);
    const [least, most] = has_id ? [1, 1] : [accepted, accepted + ambiguous];
    if (count < least || count > most) {
      wrong.push(`${table}: event ${n} (${body.event}) expected ${least} to ${most} times, found ${count}`);
    }
  }
  for (const [n, count] of counts) wrong.push(`${table}: event ${n} was never sent, found ${count} times`);
  return wrong;
}
