import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { factsOf, type GrantRow, type HistoryRow } from '../../../src/bonuses/grants/grant-row.ts';
import { selectGrant, selectHistory } from '../../../src/bonuses/grants/queries.ts';
import {
  NO_FACTS,
  transition,
  type GrantEvent,
  type GrantEventName,
  type GrantState,
} from '../../../src/bonuses/grants/transition.ts';
import { Random } from '../../crash/random.ts';
import type { Body } from '../../engage/messaging/messaging-client.ts';
import { startTestService, type TestService, type TestTenant } from '../../engines/service.ts';
import { runs, SEED } from '../../engines/effort.ts';
import { blockedBy } from '../../engines/lock-wait.ts';
import { until } from '../../engines/until.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ roles: new Set(['api', 'intake']) });
});
afterAll(async () => service?.close());

type Answer = Awaited<ReturnType<GrantsFixture['event']>>;
interface Casino {
  slug: string;
  secret: string;
}

/** A project with a platform, and pending grants that this platform has accepted, of two templates. */
async function project(count: number, tenant?: TestTenant) {
  const on = grantsFixture(service, tenant ?? (await service.newTenant()));
  const { sql } = on;
  const [player_id = '', ...players] = await on.client.players(count + 1);
  const { data } = await on.grant(await on.template(), player_id);
  const slug = `lots-${randomUUID().slice(0, 8)}`;
  const made = await on.client.api('POST', '/v1/adapters', { slug, kind: 'sandbox' });
  const casino: Casino = { slug, secret: String(made.data['secret']) };
  const templates = [randomUUID(), randomUUID()];
  const grant_ids = players.map(() => randomUUID()).sort();
  for (const [i, player] of players.entries())
    await sql`
      insert into bonus_grants (tenant_id, project_id, grant_id, template_id, template_version, player_id,
        granted_by_kind, terms, slot, status, outcome, adapter_slug, player_external_id, order_body, currency,
        bonus_amount, bonus_amount_base, wagering_required, next_attempt_at, created_at, updated_at)
      select tenant_id, project_id, ${grant_ids[i] ?? ''}, ${templates[i % 2] ?? ''}, 1, ${player}, 'api', terms, 1,
        'pending', 'sent', ${slug}, 'x', '{}', 'EUR', ${100 + i}, ${100 + i}, 0, now() + interval '1 hour', now(), now()
      from bonus_grants where grant_id = ${data.id}`;
  await sql`
    insert into bonus_budgets (tenant_id, project_id, template_id, used_base)
    select tenant_id, project_id, template_id, sum(bonus_amount_base) from bonus_grants
    where template_id in ${sql(templates)} group by 1, 2, 3`;
  const ledger = () => sql<{ event_id: string; result: object; transaction: string }[]>`
    select event_id, result, xmin::text as transaction from adapter_webhooks
    where adapter_slug = ${slug} and tenant_id = ${on.tenant.tenant_id}`;
  const send = (event: string, grant_id: string, rest: Body = {}): Promise<Answer> =>
    on.event(casino, event, grant_id, rest);
  return { on, casino, grant_ids, ledger, send };
}

const CONFLICTS = async () => {
  const { values } = await service.platform.metrics.webhookConflictingReplay.get();
  return values.reduce((sum, { value }) => sum + value, 0);
};
const APPLIED = { received: true, applied: true };

describe('webhooks that come together', () => {
  it('share transactions, and each has its effect', async () => {
    const { on, grant_ids, ledger, send } = await project(60);
    const answers = await Promise.all(grant_ids.map((id) => send('bonus.credited', id)));
    for (const { status, body } of answers)
      expect({ status, body }).toEqual({ status: 200, body: { ...APPLIED, new_status: 'active' } });
    const rows = await ledger();
    expect(rows).toHaveLength(60);
    for (const { result } of rows) expect(result).toEqual({ ...APPLIED, new_status: 'active' });
    expect(new Set(rows.map(({ transaction }) => transaction)).size).toBeLessThan(60);
    await on.budgets();
  });

  it('are applied one after the other where they are about one grant', async () => {
    const { on, grant_ids, send } = await project(1);
    const [id = ''] = grant_ids;
    const totals = Array.from({ length: 40 }, (_, i) => i + 1);
    const answers = await Promise.all(
      totals.map((total_wagered) => send('bonus.wagered', id, { data: { total_wagered } })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(40);
    const { status, history, wagering_progress } = await on.get(id);
    expect({ status, wagering_progress }).toEqual({ status: 'active', wagering_progress: 40 });
    expect(history.map(({ seq }) => seq)).toEqual(history.map((_, i) => i + 1));
  });

  it('are refused alone, and leave no row then', async () => {
    const { on, grant_ids, ledger, send } = await project(30);
    const [known = '', odd = '', ...others] = grant_ids;
    expect((await send('bonus.credited', known)).status).toBe(200);
    const unknown_id = randomUUID();
    const bad = { event_id: randomUUID(), platform_bonus_id: 'another' };
    const refused = {
      unknown: send('bonus.credited', unknown_id),
      contradicting: send('bonus.completed', known, bad),
      incomplete: send('bonus.wagered', odd),
    };
    const sent = others.map((id) => send('bonus.cancelled', id));
    const alike = send('bonus.completed', known);
    expect((await refused.unknown).status).toBe(404);
    expect((await refused.contradicting).status).toBe(422);
    expect((await refused.incomplete).status).toBe(422);
    for (const { status, body } of await Promise.all(sent))
      expect({ status, body }).toEqual({ status: 200, body: { ...APPLIED, new_status: 'cancelled' } });
    expect((await alike).body).toEqual({ ...APPLIED, new_status: 'completed' });
    expect(await ledger()).toHaveLength(30);
    await on.budgets();
    // What was refused is no replay when it comes again.
    expect((await send('bonus.completed', known, { event_id: bad.event_id })).body).toEqual({
      received: true,
      applied: false,
      new_status: 'completed',
    });
  });

  it('have their effect once under one event_id', async () => {
    const { on, grant_ids, ledger, send } = await project(2);
    const [one = '', two = ''] = grant_ids;
    const event_id = randomUUID();
    const before = await CONFLICTS();
    const ts = new Date().toISOString();
    const answers = await Promise.all([
      ...Array.from({ length: 20 }, () => send('bonus.credited', one, { event_id, ts })),
      ...Array.from({ length: 5 }, () => send('bonus.credited', two, { event_id, ts })),
    ]);
    for (const { status } of answers) expect(status).toBe(200);
    const applied = answers.filter(({ body }) => body['received'] === true);
    expect(applied).toHaveLength(1);
    expect(answers.filter(({ body }) => body['replay'] === true && body['applied'] === false)).toHaveLength(
      24,
    );
    expect(await ledger()).toHaveLength(1);
    const statuses = [(await on.get(one)).status, (await on.get(two)).status].sort();
    expect(statuses).toEqual(['active', 'pending']);
    expect((await CONFLICTS()) - before).toBe((await on.get(one)).status === 'active' ? 5 : 20);
  });

  it('wait for nobody: a grant or an id that another transaction holds delays its own event alone', async () => {
    const { on, grant_ids, ledger, send } = await project(20);
    const [held = '', held_id = '', ...others] = grant_ids;
    const { tenant_id, project_id } = on.tenant;
    const { slug } = (
      await on.sql<{ slug: string }[]>`
      select adapter_slug as slug from bonus_grants where grant_id = ${held}`
    )[0] ?? { slug: '' };
    const event_id = randomUUID();
    const neighbour = await project(10);
    let are_answered = 0;
    const { sent: waiting } = await on.sql.begin(async (tx) => {
      await tx`select from bonus_grants where grant_id = ${held} for no key update`;
      await tx`
        insert into adapter_webhooks (adapter_slug, event_id, tenant_id, project_id, name, body_hash, received_at)
        values (${slug}, ${event_id}, ${tenant_id}, ${project_id}, 'bonus-events', 'x', now())`;
      const sent = [send('bonus.credited', held), send('bonus.credited', held_id, { event_id })].map(
        async (answer) => {
          const { status, body } = await answer;
          are_answered++;
          return { status, body };
        },
      );
      for (const { body } of await Promise.all(others.map((id) => send('bonus.credited', id))))
        expect(body).toEqual({ ...APPLIED, new_status: 'active' });
      const theirs = neighbour.grant_ids.map((id) => neighbour.send('bonus.credited', id));
      for (const { body } of await Promise.all(theirs))
        expect(body).toEqual({ ...APPLIED, new_status: 'active' });
      expect(are_answered).toBe(0);
      return { sent };
    });
    expect(await Promise.all(waiting)).toEqual([
      { status: 200, body: { ...APPLIED, new_status: 'active' } },
      { status: 200, body: { applied: false, replay: true } },
    ]);
    expect(await ledger()).toHaveLength(20);
  });

  it('are not refused because lots have waited for a locked table', async () => {
    const { on, grant_ids, send } = await project(3);
    const neighbour = await project(1);
    const { sent } = await on.sql.begin(async (tx) => {
      await tx`lock table bonus_grants in share mode`;
      const waiting = grant_ids.map((id) => send('bonus.credited', id));
      // At most two lots are under way, each of which waits with one statement.
      await until('webhooks of a lot wait alone', async (saw) => saw(await blockedBy(on.sql, tx)) > 2);
      return { sent: [...waiting, ...neighbour.grant_ids.map((id) => neighbour.send('bonus.credited', id))] };
    });
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });
});

/** A random event as it is sent. */
interface Sent {
  event: string;
  grant_id: string;
  rest: { event_id: string; ts: string; platform_bonus_id: string; data: Record<string, unknown> };
}

const NAMES: Readonly<Record<string, GrantEventName | null>> = {
  'bonus.credited': 'bonus.credited',
  'bonus.activated': 'bonus.credited',
  'bonus.wagered': 'bonus.wagered',
  'bonus.progress': 'bonus.wagered',
  'bonus.completed': 'bonus.completed',
  'bonus.expired': 'bonus.expired',
  'bonus.cancelled': 'bonus.cancelled',
  'bonus.rejected': 'bonus.rejected',
  'bonus.unheard_of': null,
};

function eventOf({ event, rest: { ts, platform_bonus_id, data } }: Sent): GrantEvent | undefined {
  const name = NAMES[event];
  if (name === undefined || name === null) return undefined;
  const total = data['total_wagered'];
  const released = data['released_amount'];
  return {
    name,
    at_ms: Date.parse(ts),
    platform_bonus_id,
    ...(name === 'bonus.rejected' ? { reason: 'CLOSED' } : {}),
    ...(typeof total === 'number' ? { total_wagered: BigInt(total) } : {}),
    ...(typeof released === 'number' ? { released_amount: BigInt(released) } : {}),
  };
}

function* permutations<T>(items: readonly T[]): Generator<T[]> {
  if (items.length < 2) yield [...items];
  else
    for (const [i, item] of items.entries())
      for (const rest of permutations(items.filter((_, at) => at !== i))) yield [item, ...rest];
}

const digits = (_key: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);

/** Whether the answers, the history and the row are what the events come to, one at a time in this order. */
function isOrder(
  order: readonly { sent: Sent; answer: Answer }[],
  row: GrantRow,
  history: readonly HistoryRow[],
): boolean {
  let state: GrantState = { status: 'pending', outcome: 'sent', needs_review: false, facts: NO_FACTS };
  let seq = 0;
  for (const { sent, answer } of order) {
    const known = state.facts.platform_bonus_id;
    const event = eventOf(sent);
    const is_refused = event !== undefined && known !== null && known !== sent.rest.platform_bonus_id;
    if ((answer.status === 422) !== is_refused) return false;
    if (is_refused) continue;
    const next = event === undefined ? undefined : transition(state, event);
    const expected = {
      received: true,
      applied: next?.applied ?? false,
      new_status: next?.state.status ?? state.status,
    };
    if (JSON.stringify(answer.body) !== JSON.stringify(expected)) return false;
    if (next?.changed !== true) continue;
    const entry = history[seq++];
    const { event_id, from_status, to_status } = entry ?? {};
    if (event_id !== sent.rest.event_id || from_status !== state.status || to_status !== next.state.status)
      return false;
    state = next.state;
  }
  const { status, outcome, needs_review } = row;
  const text = (one: unknown) => JSON.stringify(one, digits);
  return (
    seq === history.length && text({ status, outcome, needs_review, facts: factsOf(row) }) === text(state)
  );
}

const STREAMS = runs(8);

it(
  'random events sent at once end as in some order, one at a time',
  { timeout: 30_000 + STREAMS * 10_000 },
  async () => {
    const random = new Random(SEED);
    for (let stream = 0; stream < STREAMS; stream++) {
      const { on, grant_ids, ledger, send } = await project(12);
      const sent: Sent[] = grant_ids.flatMap((grant_id) =>
        Array.from({ length: random.integer(1, 5) }, () => {
          const event = random.pick(Object.keys(NAMES));
          const why = event === 'bonus.rejected' ? { code: 'CLOSED', message: 'closed' } : {};
          return {
            event,
            grant_id,
            rest: {
              event_id: randomUUID(),
              ts: new Date(Date.UTC(2026, 0, random.integer(1, 28))).toISOString(),
              platform_bonus_id: random.integer(0, 9) === 0 ? 'another' : 'pb',
              data: { total_wagered: random.integer(0, 5), released_amount: random.integer(0, 5), ...why },
            },
          };
        }),
      );
      const unknown = Array.from({ length: 3 }, () => send('bonus.credited', randomUUID()));
      const repeated = sent.flatMap((one) => (random.integer(0, 3) === 0 ? [one, one] : [one]));
      const shuffled = repeated
        .map((one) => ({ one, at: random.integer(0, 1_000_000) }))
        .sort((a, b) => a.at - b.at)
        .map(({ one }) => one);
      const answered = await Promise.all(
        shuffled.map(async (one) => ({
          sent: one,
          answer: await send(one.event, one.grant_id, { ...one.rest }),
        })),
      );
      for (const { status } of await Promise.all(unknown)) expect(status).toBe(404);
      const results = new Map((await ledger()).map(({ event_id, result }) => [event_id, result]));
      for (const grant_id of grant_ids) {
        const own = answered.filter((one) => one.sent.grant_id === grant_id);
        const replays = own.filter(({ answer }) => answer.body['replay'] === true);
        for (const { sent: one } of replays) expect(results.has(one.rest.event_id)).toBe(true);
        const first = own.filter(({ answer }) => answer.body['replay'] !== true);
        // Refused ones may be refused again; what was answered as applied was stored, once.
        const counted = first.filter(({ answer }) => answer.status === 200);
        expect(new Set(counted.map((one) => one.sent.rest.event_id)).size).toBe(counted.length);
        for (const { sent: one, answer } of counted)
          expect(results.get(one.rest.event_id)).toEqual(answer.body);
        const [row] = await on.sql.begin((tx) => selectGrant(tx, { ...on.tenant, grant_id }));
        const history = await on.sql.begin((tx) => selectHistory(tx, { ...on.tenant, grant_id }, 100));
        if (row === undefined) throw new Error('the grant has vanished');
        // The repeat of a refused event is refused like it.
        const distinct = first.filter(
          (one, i) => first.findIndex(({ sent: { rest } }) => rest.event_id === one.sent.rest.event_id) === i,
        );
        let found = false;
        for (const order of permutations(distinct)) found ||= isOrder(order, row, history);
        expect(found, JSON.stringify({ first, row, history }, digits)).toBe(true);
      }
      const stored = answered.filter(({ answer }) => answer.body['received'] === true);
      expect(results.size).toBe(stored.length);
      await on.budgets();
    }
  },
);
