import { afterAll, beforeAll, expect, it } from 'vitest';
import { HELD_OUT } from '../../../src/engage/experiments/uplift-queries.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { storeSends } from '../campaigns/campaign-fixture.ts';
import { messagingClient } from '../messaging/messaging-client.ts';
import { storeCampaign } from './stored-campaign.ts';

// What a broadcast has brought is said once, of copies that are past the end of its last window.

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

interface Report {
  is_final: boolean;
  held_out: { players: number; conversions: number };
  arms: {
    arm: string;
    players: number;
    verdict: { reason: string | null };
    rate_effect: { p_value: number | null };
    money_effect: { method: string };
  }[];
}

/** A campaign of the tenant with stored players. */
async function stored(many: number) {
  const client = messagingClient(service, service);
  const { platform } = service;
  const [segment_id, template_id, provider_id] = [
    await client.segment(await client.players(1)),
    await client.template(),
    await client.provider(),
  ];
  const terms = { holdout_percent: 25, goal_event: 'deposit_confirmed', goal_attribution_days: 7 };
  const { data, status, error } = await client.api('POST', '/v1/campaigns', {
    name: 'C',
    channel: 'email',
    segment_id,
    template_id,
    provider_id,
    ...terms,
  });
  expect(status, JSON.stringify(error)).toBe(201);
  const campaign_id = String(data['id']);
  const { data: variants } = await client.api<{ id: string }[]>(
    'GET',
    `/v1/campaigns/${campaign_id}/variants`,
  );
  const variant = variants[0]?.id ?? '';
  const players = await storeCampaign(platform, service, campaign_id, [variant], many);
  const ask = async () => {
    const answer = await client.api<Report>('GET', `/v1/campaigns/${campaign_id}/uplift`);
    expect(answer.status, JSON.stringify(answer.error)).toBe(200);
    return answer.data;
  };
  const end = () =>
    platform.postgres.service`update campaigns set status = 'sent' where campaign_id = ${campaign_id}`;
  return { campaign_id, variant, players, ask, end };
}

const isFinal = (ask: () => Promise<Report>) =>
  until('the report is final', async (saw) => {
    const report = saw(await ask());
    return report.is_final ? report : undefined;
  });

it('reports once what a broadcast has brought, and stays at it', async () => {
  const { campaign_id, variant, players, ask, end } = await stored(300);
  const held_out = players.filter(({ arm }) => arm === HELD_OUT);
  expect(await ask()).toMatchObject({
    looks: 'once',
    is_final: false,
    primary: 'rate',
    drawn_since: null,
    balance: { is_uneven: false },
    held_out: { players: held_out.length, conversions: held_out.filter(({ converted }) => converted).length },
    arms: [
      {
        arm: variant,
        players: 300 - held_out.length,
        verdict: { decision: 'none', reason: 'window_open' },
        rate_effect: { p_value: null },
      },
    ],
  });
  await end();
  const final = await isFinal(ask);
  expect(final.arms[0]?.rate_effect.p_value).toBeGreaterThan(0);
  expect(final.arms[0]?.money_effect.method).toBe('permutation');
  // Whoever is drawn later, what was said stays.
  await storeCampaign(service.platform, service, campaign_id, [variant], 20);
  expect(await ask()).toEqual(final);
});

it('says nothing for good while a mirror is behind', async () => {
  const { ask, end } = await stored(120);
  const { postgres } = service.platform;
  await end();
  let lagging: Report | undefined;
  await postgres.service.begin(async (tx) => {
    // What is written after the oldest transaction that is open is not copied yet.
    await tx`select pg_current_xact_id()`;
    await storeSends(service.platform, service, [{ campaign_id: null }]);
    lagging = await ask();
  });
  expect(lagging).toMatchObject({ is_final: false, arms: [{ verdict: { reason: 'window_open' } }] });
  expect(lagging?.arms[0]?.rate_effect.p_value).toBeNull();
  expect((await isFinal(ask)).arms[0]?.rate_effect.p_value).not.toBeNull();
});
