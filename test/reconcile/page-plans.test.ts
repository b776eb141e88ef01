import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROLES } from '../../src/config.ts';
import { waitUntilCaughtUp } from '../../src/analytics/caught-up.ts';
import { COPIES } from '../../src/reconcile/copies-queries.ts';
import { readMembersPage } from '../../src/reconcile/queries.ts';
import { readLedgerPage, readTotalsPage, type LedgerPosition } from '../../src/reconcile/sums-queries.ts';
import { messagingClient } from '../engage/messaging/messaging-client.ts';
import { growTo } from '../platform/postgres/growth-queries.ts';
import { startExplainedService, type ExplainedService } from '../platform/postgres/statement-plans.ts';

const PLAYERS = 10_000;
/** A page of ten rows by the index of their key; each table has several hundreds of blocks. */
const MAX_BLOCKS = 100;

/** The tables of Postgres that are copied to tables of another name. */
const STORED: Readonly<Record<string, string>> = {
  players: 'player_totals',
  player_aliases: 'player_merges',
  campaign_sends: 'message_sends',
  journey_sends: 'message_sends',
};

let explained: ExplainedService;
beforeAll(async () => {
  // event-rewriter would mark the merged players as done, in a pass that had begun before the test makes them wait again.
  const roles = new Set(ROLES.filter((role) => role !== 'event-rewriter'));
  explained = await startExplainedService({ roles });
  const client = messagingClient(explained.service);
  await growTo(explained.service, PLAYERS, [await client.segment([]), await client.segment([])]);
  await growJourney(explained.service);
  // The mirrors read pages of the same tables, and now everything that was just written.
  await waitUntilCaughtUp(explained.service.platform, 60_000);
});
afterAll(async () => explained?.service.close());

/** Adds a run of each player with two steps and a message. */
async function growJourney({ platform, tenant_id, project_id }: ExplainedService['service']) {
  await platform.postgres.service.begin(async (tx) => {
    const each = tx`generate_series(1, ${PLAYERS}::integer) i`;
    const [run, journey] = [tx`md5('run' || i)::uuid`, tx`md5('journey')::uuid`];
    await tx`
      insert into journey_runs (tenant_id, project_id, run_id, journey_id, version, player_id, status, node_id, seq,
        trigger_key, re_entry, trigger, context, outcome, started_at, completed_at)
      select ${tenant_id}, ${project_id}, ${run}, ${journey}, 1, md5(i::text)::uuid, 'completed', 'end', 2, 'once', 'once',
        '{"kind": "api"}', '{}', 'ended', now(), now() from ${each}`;
    await tx`
      insert into journey_steps (tenant_id, project_id, run_id, seq, node_id, node_type, status, outcome, entered_at,
        completed_at)
      select ${tenant_id}, ${project_id}, ${run}, seq, 'n' || seq, 'end', 'completed', 'ended', now(), now()
      from ${each}, generate_series(1, 2) seq`;
    await tx`
      insert into message_sends (tenant_id, project_id, send_id, journey_id, journey_run_id, dedup_key, player_id, channel,
        status, sent_at, counted_at, enqueued_at)
      select ${tenant_id}, ${project_id}, md5('mail' || i)::uuid, ${journey}, ${run}, 'n1', md5(i::text)::uuid, 'email',
        'sent', now() - interval '30 days', now() - interval '30 days', now() - interval '30 days' from ${each}`;
  });
}

/** What a page of ten rows behind the first ones reads, without and with statistics. */
async function blocksOf(table: string, read: (tenant_id: string | undefined) => Promise<void>) {
  const { service } = explained;
  const executions = () => explained.executions();
  const found: number[] = [];
  for (const analyze of [false, true]) {
    if (analyze)
      await service.platform.postgres.service.begin((tx) => tx.unsafe('set local role none; analyze'));
    await executions();
    for (const tenant_id of [undefined, service.tenant_id]) {
      await read(tenant_id);
      const pages = (await executions()).filter(
        ({ statement, scans }) =>
          statement.includes('limit') &&
          statement.includes('order by') &&
          scans.some((scan) => scan.includes(` ${table} `)),
      );
      found.push(Math.max(...pages.map(({ blocks }) => blocks)));
    }
  }
  return found;
}

const sql = () => explained.service.platform.postgres.service;

it.each(COPIES.map((source) => ({ table: source.table, source })))(
  'a page of $table is read by the index of the key',
  async ({ table, source }) => {
    if (table === 'player_aliases')
      await sql()`update player_merges set aliased_at = now(), rewritten_at = null`;
    const found = await blocksOf(STORED[table] ?? table, async (tenant_id) => {
      const first = await source.readPage(sql(), { tenant_id, after: undefined, limit: 10 });
      const second = await source.readPage(sql(), { tenant_id, after: first.at(-1), limit: 10 });
      const keys = [...first, ...second].map(({ key }) => key);
      expect(keys).toHaveLength(20);
      expect(keys).toEqual([...new Set(keys)].toSorted());
    });
    expect(Math.max(...found)).toBeLessThan(MAX_BLOCKS);
    expect(Math.min(...found)).toBeGreaterThan(0);
  },
);

it('a page of totals is read by the index of the key', async () => {
  const found = await blocksOf('player_totals', async (tenant_id) => {
    const first = await readTotalsPage(sql(), tenant_id, undefined, 10);
    const second = await readTotalsPage(sql(), tenant_id, first.at(-1), 10);
    const ids = [...first, ...second].map(({ player_id }) => player_id);
    expect(ids).toEqual([...new Set(ids)].toSorted());
  });
  expect(Math.max(...found)).toBeLessThan(MAX_BLOCKS);
});

it('pages of the ledger are read by the index of the key, and go through the projects row by row', async () => {
  const { tenant_id } = explained.service;
  const other = await explained.service.newTenant();
  const more = '33333333-3333-4333-8333-333333333333';
  await sql()`insert into projects (tenant_id, project_id, name) values (${tenant_id}, ${more}, 'more')`;
  // Of the three projects the first and the last are of one tenant.
  for (const project_id of [other.project_id, more]) {
    await sql()`
      insert into ledger (project_no, reference, ordinal, event, player_id, occurred_at, ingestion_id, event_index,
        log_partition, log_offset)
      select project_no, 'later-' || i / 2, i % 2, 'deposit_confirmed', md5(i::text)::uuid, now(), md5(i::text)::uuid, 0, 0, i
      from projects, generate_series(0, 999) i where project_id = ${project_id}`;
  }
  const found = await blocksOf('ledger', async (of) => {
    const first = await readLedgerPage(sql(), of, undefined, 10);
    await readLedgerPage(sql(), of, first.last, 10);
  });
  expect(Math.max(...found)).toBeLessThan(MAX_BLOCKS);
  expect(Math.min(...found)).toBeGreaterThan(0);
  for (const of of [tenant_id, other.tenant_id, undefined]) {
    const whole = await sql()<{ key: string }[]>`
      select project_id || ' ' || reference || ' ' || ordinal as key from ledger join projects using (project_no)
      where ${of === undefined ? sql()`true` : sql()`tenant_id = ${of}`}
      order by project_no, ledger.reference, ordinal`;
    const paged: string[] = [];
    for (let after: LedgerPosition | undefined, is_last = false; !is_last;) {
      const page = await readLedgerPage(sql(), of, after, 997);
      paged.push(...page.rows.map((row) => `${row.project_id} ${row.reference} ${row.ordinal}`));
      after = page.last;
      is_last = after === undefined;
    }
    expect(paged.length).toBe(whole.length);
    expect(paged).toEqual(whole.map(({ key }) => key));
  }
});

it('a page of members to rebuild is read by the index of the key', async () => {
  const found = await blocksOf('segment_members', async () => {
    const first = await readMembersPage(sql(), explained.service, undefined, 10);
    const second = await readMembersPage(sql(), explained.service, first.at(-1), 10);
    expect(new Set([...first, ...second].map(({ player_id }) => player_id)).size).toBe(20);
  });
  expect(Math.max(...found)).toBeLessThan(MAX_BLOCKS);
});
