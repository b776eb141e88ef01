import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSegmentFixture, type Body, type SegmentFixture } from '../../segments/segment-fixture.ts';

let fixture: SegmentFixture;
let templates: Record<string, string>;
beforeAll(async () => {
  fixture = await openSegmentFixture();
  const made: [string, string][] = [];
  for (const channel of ['email', 'sms', 'push']) {
    await create('/v1/messaging-providers', { name: 'sandbox', kind: 'sandbox', channel, config: {} });
    const subject = channel === 'email' ? { subject: 'Hi' } : {};
    const template = { name: 'x', channel, ...subject, body: 'Hello', status: 'active' };
    made.push([channel, await create('/v1/templates', template)]);
  }
  templates = Object.fromEntries(made);
});
afterAll(() => fixture?.service.close());

async function create(path: string, body: Body): Promise<string> {
  const { status, text, data } = await fixture.api('POST', path, body);
  expect(status, text).toBe(201);
  return String(data['id']);
}

/** The outcome of a test message: `sent`, or the error code. */
async function outcome(channel: string, recipient: string, player_id?: string): Promise<unknown> {
  const path = `/v1/templates/${templates[channel]}/send-test`;
  const named = player_id === undefined ? {} : { player_id };
  const { status, text, data } = await fixture.api('POST', path, { recipient, ...named });
  expect(status, text).toBe(200);
  return data['error_code'] ?? data['status'];
}

const patch = (player_id: string, body: Body) => fixture.api('PATCH', `/v1/players/${player_id}`, body);
async function excluded(traits: Body): Promise<string> {
  const player_id = await fixture.person(traits);
  await patch(player_id, { status: 'self_excluded' });
  return player_id;
}

describe('a test to the address of a player who must not get messages', () => {
  it.each([
    [
      'email',
      { email: 'Bob@X.example' },
      ['Bob@X.example', 'bob@x.example', 'BOB@x.EXAMPLE'],
      'bobb@x.example',
    ],
    ['email', { email: 'ann@x.example' }, ['ann@x.example', 'Ann@X.example'], 'ann@y.example'],
    [
      'sms',
      { phone: '+35679000001' },
      ['+35679000001', '+356 7900 0001', '(356) 7900-0001', '35679000001', '0035679000001'],
      '+356790000010',
    ],
    ['sms', { phone: '00356 7900/0002' }, ['+35679000002', '+356.7900.0002'], '+35679000020'],
    ['sms', { phone: '+44 (0)20 7946 0003' }, ['+442079460003', '+44 (0)2079460003'], '+442079460030'],
    ['push', { push_token: 'Token-4' }, ['Token-4', 'token-4'], 'Token-5'],
  ])('is not sent, whatever the spelling of the address: %s %j', async (channel, traits, same, other) => {
    await excluded(traits);
    const ordinary = await fixture.person();
    for (const recipient of same) {
      expect(await outcome(channel, recipient), recipient).toBe('SKIPPED_SELF_EXCLUDED');
      expect(await outcome(channel, recipient, ordinary), recipient).toBe('SKIPPED_SELF_EXCLUDED');
    }
    expect(await outcome(channel, other)).toBe('sent');
    expect(await outcome(channel, other, ordinary)).toBe('sent');
  });

  it('names the reason: by flag or status, also for deleted players, and a cool-down only until it ends', async () => {
    const { postgres } = fixture.service.platform;
    const ordinary = await fixture.person();
    const toAddressOf = async (name: string, change: (player_id: string) => Promise<unknown>) => {
      const email = `${name}@z.example`;
      await change(await fixture.person({ email }));
      const alone = await outcome('email', email);
      expect(await outcome('email', email, ordinary)).toBe(alone);
      return alone;
    };
    const until = (interval: string) => (id: string) =>
      postgres.service`update players set cooldown_until = now() + ${interval}::interval where player_id = ${id}`;
    const remove = (id: string) => fixture.api('DELETE', `/v1/players/${id}`);
    const seen = {
      by_status: await toAddressOf(
        'status',
        (id) => postgres.service`update players set status = 'self_excluded' where player_id = ${id}`,
      ),
      hidden_by_a_ban: await toAddressOf('both', async (id) => {
        await patch(id, { status: 'self_excluded' });
        await patch(id, { status: 'banned' });
      }),
      banned: await toAddressOf('banned', (id) => patch(id, { status: 'banned' })),
      paused: await toAddressOf('paused', until('1 hour')),
      pause_over: await toAddressOf('over', until('-1 minute')),
      deleted_after_excluded: await toAddressOf('gone', async (id) => {
        await patch(id, { status: 'self_excluded' });
        await remove(id);
      }),
      deleted_while_paused: await toAddressOf('gone-paused', async (id) => {
        await until('1 hour')(id);
        await remove(id);
      }),
      deleted: await toAddressOf('deleted', remove),
    };
    expect(seen).toEqual({
      by_status: 'SKIPPED_SELF_EXCLUDED',
      hidden_by_a_ban: 'SKIPPED_SELF_EXCLUDED',
      banned: 'SKIPPED_BANNED',
      paused: 'SKIPPED_COOLDOWN',
      pause_over: 'sent',
      deleted_after_excluded: 'SKIPPED_SELF_EXCLUDED',
      deleted_while_paused: 'SKIPPED_COOLDOWN',
      deleted: 'sent',
    });
  });

  it('fails with the first reason in the gate’s order, of all players with the address and of the named player', async () => {
    const { postgres } = fixture.service.platform;
    const { tenant_id } = fixture.service;
    const banned = await fixture.person({ email: 'Shared@z.example' });
    await patch(banned, { status: 'banned' });
    const unwilling = await fixture.person({ 'consent.email': false });
    await postgres.service`insert into suppressions (tenant_id, channel, address, reason, created_at)
      values (${tenant_id}, 'email', 'shared@z.example', 'bounce', now())`;
    expect(await outcome('email', 'shared@z.example')).toBe('SKIPPED_BANNED');
    expect(await outcome('email', 'shared@z.example', unwilling)).toBe('SKIPPED_BANNED');
    expect(await outcome('email', 'me@z.example', unwilling)).toBe('SKIPPED_NO_CONSENT');
    const out = await excluded({ email: 'shared@Z.example' });
    expect(await outcome('email', 'shared@z.example')).toBe('SKIPPED_SELF_EXCLUDED');
    expect(await outcome('email', 'shared@z.example', banned)).toBe('SKIPPED_SELF_EXCLUDED');
    await patch(out, { email: 'elsewhere@z.example' });
    expect(await outcome('email', 'shared@z.example', out)).toBe('SKIPPED_SELF_EXCLUDED');
    expect(await outcome('email', 'me@z.example', out)).toBe('SKIPPED_SELF_EXCLUDED');
  });

  it('ignores players of another tenant', async () => {
    const other = await fixture.service.newTenant();
    const theirs = await fixture.person({ email: 'abroad@z.example' }, { external_id: 'abroad' }, other);
    const path = `/v1/players/${theirs}`;
    expect((await fixture.api('PATCH', path, { status: 'self_excluded' }, other)).status).toBe(200);
    expect(await outcome('email', 'abroad@z.example')).toBe('sent');
  });
});
