import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runs } from '../../engines/effort.ts';
import { sunk, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

let service: TestService;
let on: GrantsFixture;
beforeAll(async () => {
  service = await sharedService();
  on = grantsFixture(service);
});
afterAll(async () => service?.close());

const reasonOf = (answer: { error: unknown }) =>
  (answer.error as { details?: Record<string, unknown> }).details?.['reason'];

describe('a grant through the sandbox', () => {
  it('is active at once, with everything that the terms say', async () => {
    const template_id = await on.template({
      type: 'deposit_match',
      config: { match_percent: 50, cap_amount: 5_000, currency: 'EUR' },
      wagering_requirement_multiplier: 5,
      wagering_basis: 'bonus_plus_deposit',
      time_limit_hours: 48,
      max_bet_during_wagering: 500,
    });
    const player_id = await on.player();
    const { status, data, error } = await on.grant(template_id, player_id, { deposit_amount: 3_001 });
    expect(status, JSON.stringify(error)).toBe(201);
    expect(data).toMatchObject({
      template_id,
      player_id,
      player_external_id: player_id,
      granted_by_kind: 'manual',
      granted_by_user: expect.any(String) as string,
      status: 'active',
      outcome: 'confirmed',
      adapter_slug: 'sandbox',
      currency: 'EUR',
      deposit_amount: 3_001,
      bonus_amount: 1_500,
      bonus_amount_base: 1_500,
      fx: null,
      wagering_multiplier: 5,
      wagering_required: 22_505,
      wagering_progress: 0,
      progress_source: 'none',
      max_bet: 500,
      needs_review: false,
      attempts: 1,
      next_attempt_at: null,
    });
    const shown = await on.get(data.id);
    expect(shown).toMatchObject({ ...data, history: expect.anything() as unknown });
    expect(shown.history.map(({ event, from_status, to_status }) => [event, from_status, to_status])).toEqual(
      [
        ['bonus.requested', null, 'pending'],
        ['bonus.credited', 'pending', 'active'],
      ],
    );
    const times = ['activated_at', 'expires_at'].map((name) => Date.parse(String(data[name])));
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBe(48 * 3_600_000);
  });

  it('is listed by every filter, in pages', async () => {
    const template_id = await on.template();
    await on.config({ grants_per_day: 100 });
    const player_id = await on.player();
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.unshift((await on.grant(template_id, player_id)).data.id);
    for (const query of [`player_id=${player_id}`, `template_id=${template_id}`]) {
      const first = await on.client.api<{ id: string }[]>('GET', `/v1/bonus-grants?limit=2&${query}`);
      const next = await on.client.api<{ id: string }[]>(
        'GET',
        `/v1/bonus-grants?limit=2&${query}&cursor=${first.next_cursor}`,
      );
      expect(
        [...first.data, ...next.data].map(({ id }) => id),
        query,
      ).toEqual(ids);
    }
    const all = `status=active&granted_by_kind=manual&needs_review=false&template_id=${template_id}`;
    const listed = await on.client.api<{ id: string }[]>('GET', `/v1/bonus-grants?${all}`);
    expect(listed.data).toHaveLength(3);
    for (const none of ['needs_review=true', 'status=failed', `campaign_id=${randomUUID()}`])
      expect(
        (await on.client.api<unknown[]>('GET', `/v1/bonus-grants?template_id=${template_id}&${none}`)).data,
      ).toEqual([]);
    expect((await on.client.api('GET', '/v1/bonus-grants?status=wrong')).status).toBe(422);
  });
});

describe('the checks', () => {
  it('come in their order, each with its code', async () => {
    const fresh = grantsFixture(service, await service.newTenant());
    const segment_id = await fresh.client.segment([]);
    const template_id = await fresh.template({
      type: 'deposit_match',
      config: { match_percent: 100, cap_amount: 5_000, currency: 'EUR', min_deposit: 100 },
      min_kyc_level: 2,
      eligible_segment_id: segment_id,
      max_grants_per_player: 1,
      exclusion_group: 'welcome',
      budget_base: 1_500,
      status: 'paused',
    });
    const player_id = await fresh.player();
    const deposit = { deposit_amount: 1_000 };
    const set = (change: string) =>
      fresh.sql.unsafe(`update players set ${change} where player_id = '${player_id}'`);
    const refused = async (
      code: string,
      status: number,
      rest: Record<string, unknown> = deposit,
      id = template_id,
    ) => {
      const answer = await fresh.grant(id, player_id, rest);
      expect([answer.code, answer.status], JSON.stringify(answer.error)).toEqual([code, status]);
      return reasonOf(answer);
    };
    await refused('BONUS_TEMPLATE_NOT_FOUND', 404, {}, randomUUID());
    await set('deleted_at = now()');
    await refused('BONUS_TEMPLATE_NOT_ACTIVE', 422, {});
    await fresh.client.api('PATCH', `/v1/bonus-templates/${template_id}`, { status: 'active' });
    await refused('PLAYER_NOT_FOUND', 404, {});
    await set(
      "deleted_at = null, self_excluded = true, status = 'banned', cooldown_until = now() + interval '1 h', " +
        `custom_attributes = '{"rg_risk": "strong"}'`,
    );
    await refused('BONUS_DEPOSIT_AMOUNT_REQUIRED', 422, {});
    await refused('VALIDATION_ERROR', 422, { deposit_amount: 99 });
    const { error: small } = await fresh.grant(template_id, player_id, { deposit_amount: 99 });
    expect(small).toMatchObject({ details: { issues: [{ path: 'deposit_amount' }] } });
    await refused('BONUS_CONFIG_INVALID', 422, { ...deposit, currency_override: 'USD' });
    await refused('VALIDATION_ERROR', 422, { ...deposit, currency_override: 'XXX' });
    const eligible = 'BONUS_PLAYER_NOT_ELIGIBLE';
    expect(await refused(eligible, 422)).toBe('SELF_EXCLUDED');
    await set('self_excluded = false');
    expect(await refused(eligible, 422)).toBe('BANNED');
    await set("status = 'active'");
    expect(await refused(eligible, 422)).toBe('COOLDOWN');
    await set('cooldown_until = null');
    expect(await refused(eligible, 422)).toBe('AT_RISK');
    await set(`custom_attributes = '{"rg_risk": "low"}', kyc_status = 'pending', kyc_level = 2`);
    expect(await refused(eligible, 422)).toBe('KYC_LEVEL');
    await set("kyc_status = 'approved'");
    expect(await refused(eligible, 422)).toBe('NOT_IN_SEGMENT');
    await fresh.sql`insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
      values (${fresh.tenant.tenant_id}, ${fresh.tenant.project_id}, ${segment_id}, ${player_id}, now())`;
    const answer = await fresh.grant(template_id, player_id, deposit);
    expect(answer.status, JSON.stringify(answer.error)).toBe(201);
    await fresh.config({ grants_per_day: 1 });
    expect(await refused(eligible, 422)).toBe('VELOCITY');
    await fresh.config({ grants_per_day: 100 });
    expect(await refused('BONUS_GRANT_LIMIT_REACHED', 409)).toBe('max_grants_per_player');
    await fresh.client.api('PATCH', `/v1/bonus-templates/${template_id}`, { max_grants_per_player: null });
    expect(await refused('BONUS_GRANT_LIMIT_REACHED', 409)).toBe('exclusion_group');
    await fresh.client.api('PATCH', `/v1/bonus-templates/${template_id}`, { exclusion_group: null });
    await refused('BONUS_BUDGET_EXCEEDED', 409);
    expect((await fresh.grant(template_id, player_id, { deposit_amount: 500 })).status).toBe(201);
    await fresh.config({ paused: true });
    await refused('BONUS_PAUSED', 409);
    await fresh.budgets();
  });

  it('let the service alone say that a journey or a campaign grants', async () => {
    const template_id = await on.template();
    const player_id = await on.player();
    const answer = await on.grant(template_id, player_id, {
      granted_by_kind: 'journey',
      granted_by_id: randomUUID(),
    });
    expect([answer.status, answer.code]).toEqual([422, 'VALIDATION_ERROR']);
    const { tenant_id, project_id } = on.tenant;
    const internal = (headers: Record<string, string>) =>
      fetch(`${service.base_url}/v1/bonus-grants`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-internal-secret': service.internal_secret,
          ...headers,
        },
        body: JSON.stringify({
          template_id,
          player_id,
          granted_by_kind: 'campaign',
          granted_by_id: tenant_id,
        }),
      });
    const whole = { 'x-tenant-id': tenant_id, 'x-project-id': project_id };
    expect((await internal({})).status).toBe(422);
    expect((await internal({ 'x-tenant-id': tenant_id })).status).toBe(422);
    expect((await internal({ 'x-project-id': project_id })).status).toBe(422);
    expect((await internal({ ...whole, 'x-internal-secret': 'wrong' })).status).toBe(401);
    expect((await internal({ ...whole, 'x-project-id': randomUUID() })).status).toBe(404);
    const made = await internal(whole);
    expect(made.status).toBe(201);
    const { data } = (await made.json()) as { data: Record<string, unknown> };
    expect(data).toMatchObject({
      granted_by_kind: 'campaign',
      campaign_id: tenant_id,
      granted_by_user: null,
    });
  });

  it('hold in another currency: rounded down for the player, up for the budget', async () => {
    const { tenant_id } = on.tenant;
    await on.sql`insert into fx_rates (tenant_id, base, quote, ts, rate, source)
      values (${tenant_id}, 'EUR', 'USD', now() - interval '1 hour', 1.0777, 'manual')`;
    const template_id = await on.template({ config: { amount: 1_001, currency: 'EUR' } });
    const { data, error } = await on.grant(template_id, await on.player(), { currency_override: 'USD' });
    expect(data, JSON.stringify(error)).toMatchObject({
      currency: 'USD',
      bonus_amount: 1_078,
      bonus_amount_base: 1_001,
      fx: { rate: 1.0777, ts: expect.any(String) as string },
    });
  });
});

describe('under races', () => {
  /** The answer to a grant. On a busy machine it may be that the grant is to be asked for again; it is, at most twice. */
  const decided = async (fresh: GrantsFixture, template_id: string, player_id: string) => {
    let answer = await fresh.grant(template_id, player_id);
    for (let again = 0; again < 2 && answer.code === 'SERVICE_UNAVAILABLE'; again++)
      answer = await fresh.grant(template_id, player_id);
    return answer;
  };

  it('a player never has more grants of a template than allowed, nor two of a group', async () => {
    const fresh = grantsFixture(service, await service.newTenant());
    await fresh.config({ grants_per_day: 1_000 });
    const rounds = runs(6);
    for (let round = 0; round < rounds; round++) {
      const window = round % 2 === 0 ? {} : { grant_window_days: 3 };
      const three = await fresh.template({ max_grants_per_player: 3, ...window });
      const [one, other] = [
        await fresh.template({ exclusion_group: `group ${round}` }),
        await fresh.template({ exclusion_group: `group ${round}` }),
      ];
      const player_id = await fresh.player();
      const answers = await Promise.all([
        ...Array.from({ length: 50 }, () => decided(fresh, three, player_id)),
        ...Array.from({ length: 10 }, (_, i) => decided(fresh, i % 2 === 0 ? one : other, player_id)),
      ]);
      const codes = answers.map(({ status, code }) => code ?? String(status));
      expect(codes.slice(0, 50).filter((code) => code === '201')).toHaveLength(3);
      expect(codes.slice(50).filter((code) => code === '201')).toHaveLength(1);
      expect(new Set(codes)).toEqual(new Set(['201', 'BONUS_GRANT_LIMIT_REACHED']));
    }
    await fresh.budgets();
  });

  it('a budget is spent to the last bonus that fits, and no further', async () => {
    const fresh = grantsFixture(service, await service.newTenant());
    const template_id = await fresh.template({ budget_base: 10_500 });
    const players = await fresh.client.players(40);
    const answers = await Promise.all(players.map((player_id) => decided(fresh, template_id, player_id)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(answers.filter(({ code }) => code === 'BONUS_BUDGET_EXCEEDED')).toHaveLength(30);
    await fresh.budgets();
    const granted = answers.find(({ status }) => status === 201)?.data.id ?? '';
    expect((await fresh.cancel(granted)).status).toBe(200);
    const again = await Promise.all(
      players.slice(0, 5).map((player_id) => decided(fresh, template_id, player_id)),
    );
    expect(again.filter(({ status }) => status === 201)).toHaveLength(1);
    await fresh.budgets();
  });
});

describe('a merge', () => {
  it('moves the grants; one whose place or group is taken is marked', async () => {
    const fresh = grantsFixture(service, await service.newTenant());
    const identify = async (body: object) => {
      const headers = { authorization: `Bearer ${fresh.tenant.api_key}`, 'content-type': 'application/json' };
      const url = `${service.base_url}/v1/players/identify`;
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      const { data } = (await answer.json()) as { data: { player_id: string } };
      return data.player_id;
    };
    const guest = await identify({ anonymous_id: 'device' });
    const known = await identify({ external_id: 'ann' });
    const once = await fresh.template({
      max_grants_per_player: 1,
      exclusion_group: 'one',
      budget_base: 9_000,
    });
    const free = await fresh.template();
    const ids: string[] = [];
    for (const [template, player] of [
      [once, guest],
      [once, known],
      [free, guest],
    ] as const)
      ids.push((await fresh.grant(template, player)).data.id);
    const pages = `/v1/bonus-grants?limit=1&player_id=${guest}`;
    const { next_cursor } = await fresh.client.api('GET', pages);
    expect(await identify({ anonymous_id: 'device', external_id: 'ann' })).toBe(known);
    // Who turns the pages meanwhile goes on with those of the survivor.
    const next = await fresh.client.api<{ id: string }[]>('GET', `${pages}&cursor=${next_cursor}`);
    expect([next.status, next.data.map(({ id }) => id)]).toEqual([200, [ids[1]]]);
    const { data } = await fresh.client.api<
      { id: string; needs_review: boolean; player_external_id: string }[]
    >('GET', `/v1/bonus-grants?player_id=${known}`);
    const shown = data.map(({ id, needs_review, player_external_id }) => [
      id,
      needs_review,
      player_external_id,
    ]);
    expect(shown).toEqual([
      [ids[2], false, guest],
      [ids[1], false, 'ann'],
      [ids[0], true, guest],
    ]);
    const by_old_id = await fresh.client.api<{ id: string }[]>(
      'GET',
      `/v1/bonus-grants?player_id=${guest}&status=active`,
    );
    expect(by_old_id.data.map(({ id }) => id)).toEqual(data.map(({ id }) => id));
    const unknown = await fresh.client.api('GET', `/v1/bonus-grants?player_id=${randomUUID()}`);
    expect([unknown.status, unknown.data]).toEqual([200, []]);
    expect((await fresh.grant(once, guest)).code).toBe('BONUS_GRANT_LIMIT_REACHED');
    await fresh.budgets();
  });
});

describe('an Idempotency-Key', () => {
  it('gives every answer of the platform again, and grants once', async () => {
    const fresh = grantsFixture(service, await service.newTenant());
    const { fake, close } = await fresh.adapter();
    try {
      const template_id = await fresh.template();
      const answers = {
        201: null,
        502: { status: 422, body: JSON.stringify({ code: 'CLOSED', message: 'account closed' }) },
        503: { status: 500, body: 'down' },
      } as const;
      for (const [status, answer] of Object.entries(answers)) {
        const player_id = await fresh.player();
        await fake.control({ answer });
        const key = { 'Idempotency-Key': randomUUID() };
        const first = await fresh.grant(template_id, player_id, {}, key);
        expect(first.status, JSON.stringify(first.error)).toBe(Number(status));
        const again = await fresh.grant(template_id, player_id, {}, key);
        expect({ ...again, headers: 0 }).toEqual({ ...first, headers: 0 });
        expect(again.headers.get('idempotent-replayed')).toBe('true');
        const rows = await fresh.sql`select from bonus_grants where player_id = ${player_id}`;
        expect(rows).toHaveLength(1);
      }
    } finally {
      await close();
    }
  });

  it('needs neither the platform nor the events for an answer that was given', async () => {
    const fresh = grantsFixture(service, await service.newTenant());
    const { adapter_id, close } = await fresh.adapter();
    try {
      const config = { percent: 10, window_days: 7, min_loss: 100, currency: 'EUR', cap_amount: 5_000 };
      const template_id = await fresh.template({ type: 'cashback', config });
      const player_id = await fresh.player();
      const bet = { bet_id: 'one', currency: 'EUR', game_id: 'book', game_category: 'slots' };
      await fresh.client.event(player_id, 'bet_settled', {
        ...bet,
        amount: 5_000,
        payout: 0,
        outcome: 'lost',
      });
      await sunk(service.platform);
      const key = { 'Idempotency-Key': randomUUID() };
      const first = await fresh.grant(template_id, player_id, {}, key);
      expect([first.status, first.data?.bonus_amount], JSON.stringify(first.error)).toEqual([201, 500]);
      const off = { is_active: false };
      expect((await fresh.client.api('PATCH', `/v1/adapters/${adapter_id}`, off)).status).toBe(200);
      const { clickhouse } = service.platform;
      const query = clickhouse.query.bind(clickhouse);
      // The loops of the bonus-sender ask other questions meanwhile.
      const asked = vi.fn();
      const spied = vi.spyOn(clickhouse, 'query').mockImplementation(async (sql, params) => {
        if (!sql.includes('as stakes')) return query(sql, params);
        asked();
        throw new Error('ClickHouse is away');
      });
      try {
        expect((await fresh.grant(template_id, player_id)).status).not.toBe(201);
        expect(asked).toHaveBeenCalled();
        asked.mockClear();
        const again = await fresh.grant(template_id, player_id, {}, key);
        expect({ ...again, headers: 0 }).toEqual({ ...first, headers: 0 });
        expect(again.headers.get('idempotent-replayed')).toBe('true');
        const other = await fresh.grant(template_id, player_id, { granted_by_id: randomUUID() }, key);
        expect(other.code).toBe('IDEMPOTENCY_KEY_REUSED');
        expect(asked).not.toHaveBeenCalled();
      } finally {
        spied.mockRestore();
      }
    } finally {
      await close();
    }
  });
});
