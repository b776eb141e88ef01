import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runs } from '../../engines/effort.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { statementWaits } from '../../engines/lock-wait.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

// Grants that are asked for together share transactions: each must come to what it would have come to alone.

let service: TestService;
let on: GrantsFixture;
beforeAll(async () => {
  service = await sharedService();
  on = grantsFixture(service);
  await on.config({ grants_per_day: 100 });
});
afterAll(async () => service?.close());

const codeOf = ({ status, code }: { status: number; code?: string | undefined }) => code ?? String(status);

/** In how many transactions the intents of these grants were stored: nothing changes the first event of a history. */
async function transactionsOf(grant_ids: readonly string[]): Promise<number> {
  const [row] = await on.sql<{ count: number }[]>`
    select count(distinct xmin::text)::integer as count from bonus_grant_events
    where seq = 1 and grant_id in ${on.sql(grant_ids)}`;
  return row?.count ?? 0;
}

describe('grants that are asked for together', () => {
  it('share transactions, and have audit rows and histories of their own', async () => {
    const template_id = await on.template();
    const players = await on.client.players(20);
    const answers = await Promise.all(players.map((player_id) => on.grant(template_id, player_id)));
    expect(answers.map(codeOf)).toEqual(players.map(() => '201'));
    const ids = answers.map(({ data }) => data.id);
    expect(await transactionsOf(ids)).toBeLessThan(ids.length);
    const rows = await on.sql<{ resource_id: string; action: string; request_id: string; shown: string }[]>`
      select resource_id, action, request_id, after ->> 'id' as shown from audit_log
      where resource_type = 'bonus_grant' and before is null and resource_id in ${on.sql(ids)}`;
    expect(rows.map(({ resource_id }) => resource_id).sort()).toEqual([...ids].sort());
    expect(rows.every(({ action, resource_id, shown }) => action === 'create' && shown === resource_id)).toBe(
      true,
    );
    expect(new Set(rows.map(({ request_id }) => request_id)).size).toBe(ids.length);
    for (const { data } of answers) {
      const shown = await on.get(data.id);
      expect(shown).toMatchObject({ ...data, history: expect.anything() as unknown });
      expect(shown.history.map(({ event }) => event)).toEqual(['bonus.requested', 'bonus.credited']);
    }
    await on.budgets();
  });

  it('take a budget as far as it is left, and refusals are of one request each', async () => {
    const template_id = await on.template({ budget_base: 7_500 });
    const gone = randomUUID();
    const players = [...(await on.client.players(30)), gone];
    const answers = await Promise.all(players.map((player_id) => on.grant(template_id, player_id)));
    const codes = answers.map(codeOf);
    expect(codes.filter((code) => code === '201')).toHaveLength(7);
    expect(codes.filter((code) => code === 'BONUS_BUDGET_EXCEEDED')).toHaveLength(23);
    expect(codes.at(-1)).toBe('PLAYER_NOT_FOUND');
    await on.budgets();
  });

  it('come to what they would have come to one by one, in whatever order', async () => {
    const request = fc.record({
      template: fc.integer({ min: 0, max: 2 }),
      player: fc.integer({ min: 0, max: 5 }),
      deposit_amount: fc.option(fc.constantFrom(100, 700, 1_500, 3_000), { nil: null, freq: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 10, maxLength: 40 }), async (requests) => {
        const terms = {
          type: 'deposit_match',
          config: { match_percent: 100, cap_amount: 2_000, currency: 'EUR' },
        };
        const limits: { max_grants_per_player?: number; budget_base?: number; exclusion_group?: string }[] = [
          { max_grants_per_player: 1, budget_base: 5_000 },
          { max_grants_per_player: 2, exclusion_group: randomUUID() },
          { budget_base: 4_000 },
        ];
        const templates = await Promise.all(limits.map((limit) => on.template({ ...terms, ...limit })));
        const players = await on.client.players(6);
        const answers = await Promise.all(
          requests.map(({ template, player, deposit_amount }) =>
            on.grant(templates[template] ?? '', players[player] ?? '', { deposit_amount }),
          ),
        );
        const costOf = (deposit: number | null) => Math.min(deposit ?? 0, 2_000);
        const granted = requests.filter((_, i) => answers[i]?.status === 201);
        const of = (one: (typeof requests)[number]) =>
          granted.filter(({ template, player }) => template === one.template && player === one.player).length;
        const used = (template: number) =>
          granted
            .filter((one) => one.template === template)
            .reduce((sum, { deposit_amount }) => sum + costOf(deposit_amount), 0);
        requests.forEach((one, i) => {
          const limit = limits[one.template] ?? {};
          const code = codeOf(answers[i] ?? { status: 0 });
          const most = Math.min(
            limit.max_grants_per_player ?? Infinity,
            'exclusion_group' in limit ? 1 : Infinity,
          );
          // Grants only add up, so whatever was refused for them is refused at the end, too.
          const allowed = [
            ...(one.deposit_amount === null ? ['BONUS_DEPOSIT_AMOUNT_REQUIRED'] : ['201']),
            ...(of(one) >= most ? ['BONUS_GRANT_LIMIT_REACHED'] : []),
            ...(used(one.template) + costOf(one.deposit_amount) > (limit.budget_base ?? Infinity)
              ? ['BONUS_BUDGET_EXCEEDED']
              : []),
          ];
          expect(allowed, JSON.stringify(one)).toContain(code);
          expect(of(one)).toBeLessThanOrEqual(most);
          expect(used(one.template)).toBeLessThanOrEqual(limit.budget_base ?? Infinity);
        });
        await on.budgets();
      }),
      { numRuns: runs(6) },
    );
  });
});

describe('what holds up or fails one request', () => {
  it('a player whom another transaction has does not delay the others', async () => {
    const template_id = await on.template({ budget_base: 1_000_000 });
    const [held = '', ...others] = await on.client.players(10);
    let waiting: ReturnType<typeof on.grant> | undefined;
    await on.sql.begin(async (tx) => {
      await tx`select from players where player_id = ${held} for update`;
      waiting = on.grant(template_id, held);
      const answers = await Promise.all(others.map((player_id) => on.grant(template_id, player_id)));
      expect(answers.map(codeOf)).toEqual(others.map(() => '201'));
      await statementWaits(on.sql, tx);
    });
    expect(codeOf(await (waiting ?? Promise.reject(new Error('nothing was asked'))))).toBe('201');
    await on.budgets();
  });

  it('a budget that another transaction has does not delay grants of other templates', async () => {
    const [held, free] = await Promise.all([on.template(), on.template()]);
    const [first = '', second = '', ...others] = await on.client.players(8);
    // The row is made by the first grant.
    await on.grant(held, first);
    let waiting: ReturnType<typeof on.grant> | undefined;
    await on.sql.begin(async (tx) => {
      await tx`select from bonus_budgets where template_id = ${held} for update`;
      waiting = on.grant(held, second);
      const answers = await Promise.all(others.map((player_id) => on.grant(free, player_id)));
      expect(answers.map(codeOf)).toEqual(others.map(() => '201'));
      await statementWaits(on.sql, tx);
    });
    expect(codeOf(await (waiting ?? Promise.reject(new Error('nothing was asked'))))).toBe('201');
    await on.budgets();
  });

  it('a unique violation of one fails none of the others', async () => {
    const template_id = await on.template({ max_grants_per_player: 5 });
    const [clashing = '', other = '', ...others] = await on.client.players(10);
    const { data: made } = await on.grant(template_id, other);
    let waiting: ReturnType<typeof on.grant> | undefined;
    await on.sql.begin(async (tx) => {
      // As no code of the service does it: without the lock that puts the grants to a player in turn.
      await tx`
        insert into bonus_grants select r.* from bonus_grants g
        cross join lateral jsonb_populate_record(g, jsonb_build_object('grant_id', ${randomUUID()}::text,
          'player_id', ${clashing}::text, 'bonus_amount_base', 0)) r
        where g.grant_id = ${made.id}`;
      waiting = on.grant(template_id, clashing);
      const answers = await Promise.all(others.map((player_id) => on.grant(template_id, player_id)));
      expect(answers.map(codeOf)).toEqual(others.map(() => '201'));
      await statementWaits(on.sql, tx);
    });
    expect(codeOf(await (waiting ?? Promise.reject(new Error('nothing was asked'))))).toBe('201');
    const slots = await on.sql<{ slot: number }[]>`
      select slot from bonus_grants where template_id = ${template_id} and player_id = ${clashing} order by slot`;
    expect(slots.map(({ slot }) => slot)).toEqual([1, 2]);
    await on.budgets();
  });

  it("one tenant's burst does not stop another tenant's request", async () => {
    const other = grantsFixture(service, await service.newTenant());
    const other_template = await other.template();
    const other_player = await other.player();
    const template_id = await on.template({ max_grants_per_player: 1 });
    // Requests for one player never share a lot: these take as many transactions as they are.
    const player_id = await on.player();
    let left = 150;
    const burst = Promise.all(
      Array.from({ length: left }, async () => {
        const answer = await on.grant(template_id, player_id);
        left--;
        return codeOf(answer);
      }),
    );
    expect(codeOf(await other.grant(other_template, other_player))).toBe('201');
    expect(left).toBeGreaterThan(0);
    expect((await burst).filter((code) => code === '201')).toHaveLength(1);
  });
});

describe('Idempotency-Keys', () => {
  it('of requests in one lot are each answered once, and again', async () => {
    const template_id = await on.template();
    const players = await on.client.players(12);
    const keys = players.map(() => randomUUID());
    const send = (i: number, player = players[i] ?? '') =>
      on.grant(template_id, player, {}, { 'idempotency-key': keys[i] ?? '' });
    const asked = [...players.keys(), ...players.keys()];
    const answers = await Promise.all(asked.map((i) => send(i)));
    const codes = answers.map(codeOf);
    expect(new Set(codes)).toEqual(new Set(['201', 'IDEMPOTENCY_IN_PROGRESS'].slice(0, new Set(codes).size)));
    const ids = asked.flatMap((i, at) =>
      answers[at]?.status === 201 ? [`${i} ${answers[at].data.id}`] : [],
    );
    expect(new Set(ids).size).toBe(players.length);
    const again = await Promise.all(players.map((_, i) => send(i)));
    again.forEach((answer, i) => {
      expect(codeOf(answer)).toBe('201');
      expect(ids).toContain(`${i} ${answer.data.id}`);
    });
    const reused = await Promise.all(players.map((_, i) => send(i, players[(i + 1) % players.length])));
    expect(new Set(reused.map(codeOf))).toEqual(new Set(['IDEMPOTENCY_KEY_REUSED']));
    const [row] = await on.sql<{ count: number }[]>`
      select count(*)::integer as count from bonus_grants where template_id = ${template_id}`;
    expect(row?.count).toBe(players.length);
    await on.budgets();
  });

  it('of refused requests keep nothing, beside others of the lot that were granted', async () => {
    const template_id = await on.template({ budget_base: 3_000 });
    const players = await on.client.players(6);
    const keys = players.map(() => randomUUID());
    const send = (i: number) =>
      on.grant(template_id, players[i] ?? '', {}, { 'idempotency-key': keys[i] ?? '' });
    const codes = (await Promise.all(players.map((_, i) => send(i)))).map(codeOf);
    expect(codes.filter((code) => code === '201')).toHaveLength(3);
    await on.client.api('PATCH', `/v1/bonus-templates/${template_id}`, { budget_base: 1_000_000 });
    const again = (await Promise.all(players.map((_, i) => send(i)))).map(codeOf);
    expect(again).toEqual(players.map(() => '201'));
    await on.budgets();
  });
});
