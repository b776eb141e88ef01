import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { mirrorSends } from '../../../processors/send-mirror/index.ts';
import { until } from '../../engines/until.ts';
import {
  expectRefusal,
  openCampaignFixture,
  storeSends,
  UNKNOWN,
  type CampaignFixture,
  type SendFields,
} from './campaign-fixture.ts';

let f: CampaignFixture;
let campaign_id: string;
beforeAll(async () => {
  f = await openCampaignFixture();
});
beforeEach(async () => {
  campaign_id = await f.make({ goal_event: 'deposit_confirmed', goal_attribution_days: 2 });
});
afterAll(() => f?.fixture.close());

const at = (text: string) => new Date(`2026-05-01T${text}Z`);
const store = (sends: SendFields[]) =>
  storeSends(
    f.fixture.platform,
    f.tenant,
    sends.map((send) => ({ campaign_id, ...send })),
  );
const get = async (path: string) => {
  const answer = await f.api('GET', `/v1/campaigns/${campaign_id}/${path}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
};
const times = (n: number, send: SendFields) => Array.from({ length: n }, () => send);
const sent_at = at('10:00:01');

describe('stats', () => {
  it('of a campaign that was not sent are zeros', async () => {
    const counters = {
      recipients_total: 0,
      sent: 0,
      delivered: 0,
      opened: 0,
      clicked: 0,
      bounced: 0,
      failed: 0,
      capped: 0,
    };
    const rates = { delivered_rate: 0, open_rate: 0, click_rate: 0, bounce_rate: 0 };
    expect((await get('stats')).data).toEqual({
      campaign_id,
      status: 'draft',
      counters,
      rates,
      machine_opened: 0,
    });
  });

  it('count a message at every stage that it passed', async () => {
    await f.setStatus(campaign_id, 'sent');
    const of_another = await f.make();
    await store([
      ...times(3, { status: 'queued' }),
      ...times(1, { status: 'sending' }),
      ...times(5, { status: 'sent', sent_at }),
      ...times(4, { status: 'delivered', sent_at, delivered_at: sent_at }),
      ...times(2, { status: 'opened', sent_at, delivered_at: sent_at, opened_at: sent_at }),
      // Their delivery and open callbacks were lost.
      ...times(2, { status: 'clicked', sent_at, clicked_at: sent_at }),
      ...times(1, { status: 'bounced', sent_at, bounced_at: sent_at }),
      ...times(1, { status: 'bounced', sent_at, delivered_at: sent_at, bounced_at: sent_at }),
      ...times(1, { status: 'failed', sent_at, error_code: 'DELIVERY_FAILED' }),
      ...times(6, { status: 'failed', error_code: 'SKIPPED_QUIET_HOURS' }),
      ...times(2, { status: 'capped', error_code: 'SKIPPED_FREQUENCY_CAP' }),
      { campaign_id: of_another, sent_at },
    ]);
    const { counters, rates, status } = (await get('stats')).data as Record<string, Record<string, number>>;
    expect(status).toBe('sent');
    const [sent, delivered] = [16, 9];
    expect(counters).toEqual({
      recipients_total: 28,
      sent,
      delivered,
      opened: 4,
      clicked: 2,
      bounced: 2,
      failed: 7,
      capped: 2,
    });
    expect(rates).toEqual({
      delivered_rate: delivered / sent,
      open_rate: 4 / delivered,
      click_rate: 2 / delivered,
      bounce_rate: 2 / sent,
    });
  });

  it.each(['stats', 'recipients', 'conversion-stats'])('%s of an unknown campaign are 404', async (path) => {
    for (const id of [UNKNOWN, 'nonsense']) {
      expectRefusal(await f.api('GET', `/v1/campaigns/${id}/${path}`), 404, 'CAMPAIGN_NOT_FOUND');
    }
  });
});

describe('recipients', () => {
  const idsOf = (body: { data: unknown }) => (body.data as { id: string }[]).map(({ id }) => id);

  it('are shown with all their fields', async () => {
    const player_id = randomUUID();
    const variant_id = randomUUID();
    const [id] = await store([
      {
        player_id,
        variant_id,
        template_id: f.template_id,
        recipient: 'a@b.c',
        status: 'opened',
        sent_at,
        opened_at: at('11:00:00'),
      },
    ]);
    expect((await get('recipients')).data).toEqual([
      {
        id,
        campaign_id,
        journey_run_id: null,
        player_id,
        channel: 'email',
        template_id: f.template_id,
        variant_id,
        provider_id: null,
        recipient: 'a@b.c',
        status: 'opened',
        error_code: null,
        provider_message_id: null,
        provider_code: null,
        provider_message: null,
        enqueued_at: '2026-05-01T10:00:00.000Z',
        sent_at: '2026-05-01T10:00:01.000Z',
        delivered_at: null,
        opened_at: '2026-05-01T11:00:00.000Z',
        clicked_at: null,
        bounced_at: null,
      },
    ]);
  });

  it('come in pages, each row exactly once', async () => {
    const twice = randomUUID();
    const ids = await store([
      ...times(5, {}),
      { player_id: twice, dedup_key: 'b' },
      { player_id: twice, dedup_key: 'a' },
    ]);
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const body = await get(`recipients?limit=2${cursor}`);
      seen.push(...idsOf(body));
      const next = body.meta['next_cursor'] as string | null;
      if (next === null) break;
      cursor = `&cursor=${next}`;
      expect(seen.length % 2).toBe(0);
    }
    expect(seen.toSorted()).toEqual(ids.toSorted());
  });

  it('are chosen by status, by code, or as skipped', async () => {
    const [quiet = '', capped = '', unknown = '', failed = '', sent = ''] = await store([
      { status: 'failed', error_code: 'SKIPPED_QUIET_HOURS' },
      { status: 'capped', error_code: 'SKIPPED_FREQUENCY_CAP' },
      { status: 'failed', error_code: 'OUTCOME_UNKNOWN' },
      { status: 'failed', error_code: 'PROVIDER_REJECTED' },
      { status: 'sent' },
    ]);
    const chosen = async (status: string) => idsOf(await get(`recipients?status=${status}`)).toSorted();
    expect(await chosen('sent')).toEqual([sent]);
    expect(await chosen('capped')).toEqual([capped]);
    expect(await chosen('failed')).toEqual([quiet, unknown, failed].toSorted());
    expect(await chosen('SKIPPED_QUIET_HOURS')).toEqual([quiet]);
    expect(await chosen('OUTCOME_UNKNOWN')).toEqual([unknown]);
    expect(await chosen('SKIPPED_*')).toEqual([quiet, capped].toSorted());
    expect(await chosen('queued')).toEqual([]);
    const page = await get('recipients?status=failed&limit=1');
    const cursor = String(page.meta['next_cursor']);
    for (const query of [
      `?limit=1&cursor=${cursor}`,
      '?status=SKIPPED',
      '?status=',
      '?limit=201',
      '?limit=0',
    ]) {
      const answer = await f.api('GET', `/v1/campaigns/${campaign_id}/recipients${query}`);
      expectRefusal(answer, 422, 'VALIDATION_ERROR');
    }
  });
});

describe('messages of a player', () => {
  const identify = async (ids: Record<string, string>) => {
    const body = { ...ids };
    const { body: answer, text } = await f.fixture.as(f.tenant.api_key, '/v1/players/identify', {
      method: 'POST',
      body,
    });
    expect(answer.data, text).toBeDefined();
    return String(answer.data['player_id']);
  };
  const messagesOf = async (player_id: string, query = '') => {
    const { body, text } = await f.api('GET', `/v1/players/${player_id}/messages${query}`);
    expect(body.data, text).toBeDefined();
    return body.data as unknown as { id: string; player_id: string; error_code: string | null }[];
  };

  it('are the latest ones, newest first, including those of players merged into this one', async () => {
    const [device, known] = [randomUUID(), randomUUID()];
    const former = await identify({ anonymous_id: device });
    const player_id = await identify({ external_id: known });
    expect(await messagesOf(player_id)).toEqual([]);
    const ids = await store([
      { player_id: former, enqueued_at: at('09:00:00') },
      {
        player_id,
        enqueued_at: at('10:00:00'),
        campaign_id: null,
        status: 'failed',
        error_code: 'SKIPPED_BANNED',
      },
      { player_id, enqueued_at: at('11:00:00'), dedup_key: 'x' },
    ]);
    expect((await messagesOf(player_id)).map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    expect(await identify({ anonymous_id: device, external_id: known })).toBe(player_id);
    for (const id of [player_id, former, player_id.toUpperCase()]) {
      const found = await messagesOf(id);
      expect(found.map((one) => one.id)).toEqual(ids.toReversed());
      expect(new Set(found.map((one) => one.player_id))).toEqual(new Set([player_id]));
    }
    expect((await messagesOf(player_id, '?limit=1')).map(({ id }) => id)).toEqual([ids[2]]);
  });

  it('are limited to 25 by default', async () => {
    const player_id = await identify({ external_id: randomUUID() });
    await store(Array.from({ length: 30 }, (_, n) => ({ player_id, dedup_key: String(n) })));
    expect(await messagesOf(player_id)).toHaveLength(25);
    expect(await messagesOf(player_id, '?limit=200')).toHaveLength(30);
    for (const limit of ['0', '201', 'x']) {
      const answer = await f.api('GET', `/v1/players/${player_id}/messages?limit=${limit}`);
      expectRefusal(answer, 422, 'VALIDATION_ERROR', ['limit']);
    }
    expectRefusal(await f.api('GET', `/v1/players/${UNKNOWN}/messages`), 404, 'PLAYER_NOT_FOUND');
    expectRefusal(await f.api('GET', '/v1/players/nobody/messages'), 404, 'PLAYER_NOT_FOUND');
  });
});

describe('conversion stats', () => {
  const HOUR_MS = 3_600_000;
  const mirrored = () =>
    until('the messages are in ClickHouse', async (saw) => {
      await mirrorSends(f.fixture.platform);
      const { postgres } = f.fixture.platform;
      const [row] = saw(
        await postgres.service<{ behind: boolean }[]>`
        select exists (select from message_sends s where s.changed_xid > coalesce(
          (select changed_xid from mirror_positions where name = 'message_sends'), '0'::xid8)) as behind`,
      );
      return row?.behind === false;
    });
  const variant = async (name: string) => {
    const body = { name, template_id: f.template_id, weight: 50 };
    const answer = await f.api('POST', `/v1/campaigns/${campaign_id}/variants`, body);
    return String(answer.body.data['id']);
  };
  /** Stores deposits: for each player the time after the message and the amount. */
  const deposit = (made: { player_id: string; after_ms: number; base_amount: string; event?: string }[]) => {
    const { tenant_id, project_id } = f.tenant;
    const lines = made.map(
      ({ player_id, after_ms, base_amount, event = 'deposit_confirmed' }) =>
        `{"tenant_id":"${tenant_id}","project_id":"${project_id}","player_id":"${player_id}","event":"${event}",` +
        `"occurred_at":${sent_at.getTime() + after_ms},"received_at":0,"ingestion_id":"${randomUUID()}",` +
        `"event_index":0,"base_amount":${base_amount},"properties":{"points":0.1}}`,
    );
    return f.fixture.platform.clickhouse.insertLines('events', lines, randomUUID());
  };

  it('of a campaign that was not sent are zeros for its default variant', async () => {
    const [variant] = (await get('variants')).data as unknown as Record<string, unknown>[];
    expect((await get('conversion-stats')).data).toEqual({
      campaign_id,
      goal_event: 'deposit_confirmed',
      goal_attribution_days: 2,
      variants: [
        {
          variant_id: variant?.['id'],
          name: 'default',
          label: 'default',
          weight: 100,
          recipients: 0,
          conversions: 0,
          conversion_rate: 0,
          conversion_value: null,
        },
      ],
      winner_variant_id: null,
      significance: null,
    });
  });

  it('are counted once for all who ask at the same time, over time, too', async () => {
    const { clickhouse } = f.fixture.platform;
    const asked = vi.spyOn(clickhouse, 'query');
    try {
      for (const path of ['conversion-stats', 'series']) {
        asked.mockClear();
        const [one, other] = await Promise.all([get(path), get(path)]);
        expect(one).toEqual(other);
        expect(asked).toHaveBeenCalledTimes(1);
      }
    } finally {
      asked.mockRestore();
    }
  });

  it('count the first goal within the window after each message, to the millisecond, with exact money', async () => {
    await f.api('PATCH', `/v1/campaigns/${campaign_id}`, { goal_value_property: 'amount' });
    const [a, b] = [await variant('A'), await variant('B')];
    const players = Array.from({ length: 70 }, () => randomUUID());
    const of = (n: number) => players[n] ?? '';
    await store([
      ...players.map((player_id, n) => ({ player_id, variant_id: n < 40 ? a : b, sent_at })),
      { variant_id: a, status: 'failed', error_code: 'SKIPPED_BANNED' },
    ]);
    await mirrored();
    const big = '9007199254740993';
    await deposit([
      { player_id: of(0), after_ms: 0, base_amount: big },
      { player_id: of(0), after_ms: 1, base_amount: '5' },
      { player_id: of(1), after_ms: -1, base_amount: '5' },
      { player_id: of(2), after_ms: 48 * HOUR_MS - 1, base_amount: '6' },
      { player_id: of(3), after_ms: 48 * HOUR_MS, base_amount: '5' },
      { player_id: of(4), after_ms: 5, base_amount: '5', event: 'login' },
      ...players.slice(40, 50).map((player_id) => ({ player_id, after_ms: HOUR_MS, base_amount: '100' })),
    ]);
    const answer = await f.api('GET', `/v1/campaigns/${campaign_id}/conversion-stats`);
    const { variants, winner_variant_id, significance } = answer.body.data as Record<string, never>;
    const shared = { weight: 50, label: expect.any(String) as string };
    expect(variants).toEqual([
      {
        ...shared,
        variant_id: a,
        name: 'A',
        recipients: 40,
        conversions: 2,
        conversion_rate: 0.05,
        conversion_value: Number('9007199254740999'),
      },
      {
        ...shared,
        variant_id: b,
        name: 'B',
        recipients: 30,
        conversions: 10,
        conversion_rate: 1 / 3,
        conversion_value: 1_000,
      },
    ]);
    expect(answer.text).toContain('"conversion_value":9007199254740999}');
    expect(winner_variant_id).toBe(b);
    expect(significance).toEqual({ test: 'two_proportion_z', p_value: expect.closeTo(0.001_8, 3) as number });
  });

  it('count a player once to whom a triggered campaign wrote several times', async () => {
    await f.api('PATCH', `/v1/campaigns/${campaign_id}`, { goal_value_property: 'amount' });
    const [[made]] = [(await get('variants')).data as unknown as Record<string, string>[]];
    const variant_id = made?.['id'] ?? '';
    const [often, once] = [randomUUID(), randomUUID()];
    const message = (player_id: string, hours: number) => {
      const dedup_key = `event ${hours}`;
      return { player_id, variant_id, dedup_key, sent_at: new Date(sent_at.getTime() + hours * HOUR_MS) };
    };
    await store([message(often, 0), message(often, 24), message(often, 48), message(once, 0)]);
    await mirrored();
    await deposit([
      { player_id: often, after_ms: 30 * HOUR_MS, base_amount: '7' },
      { player_id: often, after_ms: 50 * HOUR_MS, base_amount: '9' },
    ]);
    const counted = { recipients: 2, conversions: 1, conversion_rate: 0.5, conversion_value: 7 };
    expect((await get('conversion-stats')).data['variants']).toEqual([expect.objectContaining(counted)]);
    await f.api('PATCH', `/v1/campaigns/${campaign_id}`, { goal_event: null, goal_value_property: null });
    expect((await get('conversion-stats')).data['variants']).toEqual([
      expect.objectContaining({ recipients: 2, conversions: 0 }),
    ]);
  });

  it('sum other properties as decimals, and name no winner without a goal', async () => {
    await f.api('PATCH', `/v1/campaigns/${campaign_id}`, { goal_value_property: 'points' });
    const [a, b] = [await variant('A'), await variant('B')];
    const players = Array.from({ length: 60 }, () => randomUUID());
    await store(players.map((player_id, n) => ({ player_id, variant_id: n < 30 ? a : b, sent_at })));
    await mirrored();
    await deposit(players.slice(0, 3).map((player_id) => ({ player_id, after_ms: 1, base_amount: '1' })));
    const values = async () =>
      ((await get('conversion-stats')).data['variants'] as Record<string, unknown>[]).map(
        ({ conversions, conversion_value, recipients }) => [recipients, conversions, conversion_value],
      );
    expect(await values()).toEqual([
      [30, 3, 0.3],
      [30, 0, 0],
    ]);
    await f.api('PATCH', `/v1/campaigns/${campaign_id}`, { goal_event: null, goal_value_property: null });
    expect(await values()).toEqual([
      [30, 0, null],
      [30, 0, null],
    ]);
    expect((await get('conversion-stats')).data).toMatchObject({
      goal_event: null,
      winner_variant_id: null,
      significance: null,
    });
  });
});
