import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../../engines/http-client.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
let made = 0;

beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
});
afterAll(() => fixture.close());

interface Found {
  id: string;
  matched_by: string;
  is_exact: boolean;
  deleted_at: string | null;
  email: string | null;
}

async function identify(body: object, who = tenant): Promise<string> {
  const answer = await fixture.as(who.api_key, '/v1/players/identify', { method: 'POST', body });
  expect(answer.status, answer.text).toBe(200);
  return String(answer.body.data['player_id']);
}
const newPlayer = (traits: object = {}, who = tenant) =>
  identify({ external_id: `x-${++made}`, traits }, who);
const ask = (q: string, who = tenant, headers: Record<string, string> = {}): Promise<Answer> =>
  fixture.as(who.session, `/v1/players/search?q=${encodeURIComponent(q)}`, { headers });
async function search(q: string, who = tenant): Promise<Found[]> {
  const answer = await ask(q, who);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.data as unknown as Found[];
}
const brief = (found: Found[]) => found.map(({ id, matched_by, is_exact }) => [id, matched_by, is_exact]);

describe('an exact id', () => {
  test('of every kind finds its player, and says which it was', async () => {
    const traits = { email: 'Ada@Example.com', phone: '+356 99 1234', telegram_id: '@ada_l' };
    const id = await identify({ external_id: 'operator-17', anonymous_id: 'device-17', traits });
    await newPlayer({ email: 'bob@example.com', phone: '+35699999', telegram_id: '@bob' });
    for (const [q, matched_by] of [
      [id, 'player_id'],
      [id.toUpperCase(), 'player_id'],
      ['operator-17', 'external_id'],
      ['Ada@Example.com', 'email'],
      ['+356 99 1234', 'phone'],
      ['@ada_l', 'telegram_id'],
      ['ada_l', 'telegram_id'],
      ['device-17', 'anonymous_id'],
      ['  operator-17 ', 'external_id'],
    ] as const) {
      expect(brief(await search(q)), q).toEqual([[id, matched_by, true]]);
    }
    expect((await search(id))[0]).toEqual({
      id,
      external_id: 'operator-17',
      ...traits,
      status: 'active',
      current_tier_code: null,
      last_seen_at: expect.stringMatching(/Z$/) as string,
      deleted_at: null,
      matched_by: 'player_id',
      is_exact: true,
    });
  });

  test('is found in the spellings in which it is stored', async () => {
    const id = await newPlayer({ email: 'carol@example.com', phone: '+4479460000' });
    expect(brief(await search('CAROL@example.com'))).toEqual([[id, 'email', true]]);
    expect(brief(await search('44 (7946) 00-00'))).toEqual([[id, 'phone', true]]);
  });

  test('that is an address is found in every spelling, as the gate compares it, and so are its beginnings', async () => {
    const spaced = await newPlayer({ phone: '+356 7712 3456' });
    const zeros = await newPlayer({ phone: '00499912345678' });
    const mixed = await newPlayer({ email: 'Bob.Smith@Example.COM' });
    for (const q of [
      '+35677123456',
      '0035677123456',
      '35677123456',
      '+356 (0) 77.12-34/56',
      '+356 7712 3456',
    ]) {
      expect(brief(await search(q)), q).toEqual([[spaced, 'phone', true]]);
    }
    for (const q of ['+3567712', '003567712', '3567712', '+356 771', 'tel:+3567712']) {
      expect(brief(await search(q)), q).toEqual([[spaced, 'phone', false]]);
    }
    for (const q of ['+499912345678', '499912345678', '00499912345678', '0049 9912 345678']) {
      expect(brief(await search(q)), q).toEqual([[zeros, 'phone', true]]);
    }
    for (const q of ['+4999123', '004999123', '4999123']) {
      expect(brief(await search(q)), q).toEqual([[zeros, 'phone', false]]);
    }
    for (const q of ['bob.smith@example.com', 'Bob.Smith@Example.COM', 'mailto:BOB.SMITH@example.com']) {
      expect(brief(await search(q)), q).toEqual([[mixed, 'email', true]]);
    }
    for (const q of ['bob.smith@', 'BOB.S'])
      expect(brief(await search(q)), q).toEqual([[mixed, 'email', false]]);
    for (const q of ['5677123456', '#356771', 'x3567712', '000']) expect(await search(q), q).toEqual([]);
  });

  test('that two players have finds both, and one that several ids of a player are finds it once', async () => {
    const [one, two] = [await newPlayer({ phone: '+7001' }), await newPlayer({ phone: '+7001' })];
    expect((await search('+700')).map(({ id }) => id).sort()).toEqual([one, two].sort());
    const same = await identify({
      external_id: 'same',
      anonymous_id: 'same',
      traits: { telegram_id: 'same' },
    });
    expect(brief(await search('same'))).toEqual([[same, 'external_id', true]]);
  });

  test('comes before ids that only begin with it', async () => {
    const longer = await identify({ external_id: 'abc-1' });
    const exact = await identify({ external_id: 'abc' });
    const by_mail = await newPlayer({ email: 'abc@example.com' });
    expect(brief(await search('abc'))).toEqual([
      [exact, 'external_id', true],
      [longer, 'external_id', false],
      [by_mail, 'email', false],
    ]);
  });
});

describe('the beginning of an id', () => {
  test('finds players by every kind but the player id, from three characters on', async () => {
    const traits = { email: 'zelda@example.com', phone: '+999888777', telegram_id: '@zelda_t' };
    const id = await identify({ external_id: 'zzz-external', anonymous_id: 'zzy-device', traits });
    for (const [q, matched_by] of [
      ['zelda@', 'email'],
      ['ZELDA@', 'email'],
      ['zzz-e', 'external_id'],
      ['zzy', 'anonymous_id'],
      ['+9998', 'phone'],
      ['9998', 'phone'],
      ['@zelda_', 'telegram_id'],
      ['zelda_', 'telegram_id'],
    ] as const) {
      expect(brief(await search(q)), q).toEqual([[id, matched_by, false]]);
    }
    for (const q of ['zz', 'elda@example.com', id.slice(0, 12), 'zelda%', 'zelda_@', 'z_l']) {
      expect(await search(q), q).toEqual([]);
    }
  });

  test('that very many ids have answers twenty players', async () => {
    const { service } = fixture.platform.postgres;
    await service`
      with made as (
        insert into players (tenant_id, project_id, player_id, email, default_currency_code, created_at, updated_at)
        select ${tenant.tenant_id}, ${tenant.project_id}, new_id(), 'many-' || i || '@example.com', 'EUR', now(), now()
        from generate_series(1, 100) i returning tenant_id, project_id, player_id)
      insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
      select tenant_id, project_id, player_id, now(), now(), now() from made`;
    expect(await search('many-')).toHaveLength(20);
    expect(brief(await search('many-77@example.com'))).toEqual([[expect.any(String), 'email', true]]);
  });
});

describe('a player that is not there any more', () => {
  test('of a merge is answered by its survivor', async () => {
    const survivor = await identify({ external_id: 'merge-survivor' });
    const gone = await identify({ anonymous_id: 'merge-device', traits: { email: 'merged@example.com' } });
    expect(await identify({ external_id: 'merge-survivor', anonymous_id: 'merge-device' })).toBe(survivor);
    expect(brief(await search(gone))).toEqual([[survivor, 'player_id', true]]);
    expect(brief(await search('merge-device'))).toEqual([[survivor, 'anonymous_id', true]]);
    expect(brief(await search('merged@example.com'))).toEqual([[survivor, 'email', true]]);
  });

  test('that is deleted is found by its exact id or external id alone, with the time', async () => {
    const traits = { email: 'late@example.com', phone: '+123123', telegram_id: '@late' };
    const id = await identify({ external_id: 'late-one', anonymous_id: 'late-device', traits });
    expect((await fixture.as(tenant.session, `/v1/players/${id}`, { method: 'DELETE' })).status).toBe(200);
    for (const q of [id, 'late-one']) {
      const [found] = await search(q);
      expect(found, q).toMatchObject({ id, status: 'deleted', is_exact: true });
      expect(found?.deleted_at, q).toMatch(/Z$/);
    }
    for (const q of ['late@example.com', '+123123', '@late', 'late-device', 'late-o', 'late']) {
      expect(await search(q), q).toEqual([]);
    }
  });
});

test('finds nothing of another tenant or project', async () => {
  const other = await fixture.makeTenant();
  const traits = { email: 'own@example.com', phone: '+555556', telegram_id: '@own_t' };
  const id = await identify({ external_id: 'own-external', anonymous_id: 'own-device', traits });
  const { body } = await fixture.internal('/v1/internal/projects', {
    tenant_id: tenant.tenant_id,
    name: 'Second',
  });
  const second = { 'x-project-id': String(body.data['project_id']) };
  for (const q of [id, 'own-external', 'own@example.com', '+555556', '@own_t', 'own-device', 'own']) {
    expect(
      (await search(q)).map((one) => one.id),
      q,
    ).toEqual([id]);
    expect(await search(q, other), q).toEqual([]);
    expect((await ask(q, tenant, second)).body.data, q).toEqual([]);
  }
});

test.each(['', '%20%20', 'x'.repeat(321), '%00'])('refuses the text %j', async (q) => {
  const answer = await fixture.as(tenant.session, `/v1/players/search?q=${q}`);
  expect([answer.status, answer.body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
});

test('refuses a missing text and unknown parameters, and takes any other text', async () => {
  for (const query of ['', '?q=abc&limit=5', '?query=abc']) {
    const { body } = await fixture.as(tenant.session, `/v1/players/search${query}`);
    expect(body.error.code, query).toBe('VALIDATION_ERROR');
  }
  for (const q of [
    "'; drop table players",
    '\\',
    '{"a":1}',
    '😀😀😀',
    '\u{10FFFF}'.repeat(3),
    '%%%',
    '@',
    '+',
    '()',
  ]) {
    expect(await search(q), q).toEqual([]);
  }
});
