import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { ReconcileReport } from '../../src/reconcile/schema.ts';
import { storeSends } from '../engage/campaigns/campaign-fixture.ts';
import { end, runFixture } from '../engage/journeys/runs/run-fixture.ts';
import { internally } from '../engines/http-client.ts';
import { type TestService, type TestTenant } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import { segmentClient, type SegmentClient } from '../segments/segment-client.ts';

/** The tables of ClickHouse that are copies of the log and of Postgres. */
export const TABLES = [
  'events',
  'events_by_player',
  'players',
  'segment_members',
  'message_sends',
  'campaign_sends',
  'journey_sends',
  'journey_runs',
  'journey_steps',
] as const;

/** Calls the endpoint; expects 200. */
export async function reconcile(service: TestService, body: object): Promise<ReconcileReport> {
  const { status, text } = await tryToReconcile(service, body);
  expect(status, text).toBe(200);
  return (JSON.parse(text) as { data: ReconcileReport }).data;
}

export async function tryToReconcile(
  service: TestService,
  body: object,
): Promise<{ status: number; text: string }> {
  const response = await internally(service, 'reconcile', body);
  return { status: response.status, text: response.text };
}

export const PLAYERS = 12;
const BIG = 4;

/** An operator with rows in every table of ClickHouse. */
export interface Populated {
  tenant: TestTenant;
  client: SegmentClient;
  players: string[];
  /** What an operator sees that comes from ClickHouse. */
  answers(): Promise<Record<string, unknown>>;
  /** How many players are not in the segment of big depositors, asked anew. */
  others(): Promise<number>;
  /** Events on a player's timeline. */
  timeline(player_id: string): Promise<number>;
}

/**
 * Makes a tenant with deposits in two currencies, one of them converted by a rate that came later, a merged player,
 * events without money, a segment, messages and a journey.
 */
export async function populate(service: TestService): Promise<Populated> {
  const tenant = await service.newTenant();
  const { tenant_id, project_id } = tenant;
  const sql = service.platform.postgres.service;
  const client = segmentClient({ ...service, ...tenant });
  const players: string[] = [];
  for (let i = 0; i < PLAYERS; i++) {
    const id = await client.identify({}, { anonymous_id: `device-${i}` });
    players.push(id);
    await client.deposit(id, i < BIG ? 50_000 : 100);
    await client.send(id, 'login');
    await client.send(id, 'session_start');
  }
  const usd = { amount: 1_000, currency: 'USD', transaction_id: 'usd', payment_method: 'card' };
  await client.send(players[5] ?? '', 'deposit_confirmed', usd);
  // The two devices turn out to be one person's.
  await client.identify({}, { anonymous_id: 'tablet' });
  const merged = await client.identify({}, { anonymous_id: 'tablet', external_id: 'person' });
  await client.deposit(merged, 70);
  expect(await client.identify({}, { anonymous_id: 'device-0', external_id: 'person' })).toBeDefined();
  await reconcile(service, { tenant_id });
  await sql`insert into fx_rates (tenant_id, base, quote, ts, rate) values (${tenant_id}, 'USD', 'EUR', '2020-01-01', 0.9)`;
  const sum = { type: 'event', event: 'deposit_confirmed', aggregate: 'sum', property: 'amount' };
  const big = await client.make([{ ...sum, op: 'gt', value: 10_000 }], { refresh_strategy: 'manual' });
  await client.api('POST', `/v1/segments/${big}/refresh`);
  const template = { name: 'T', channel: 'email', status: 'active', subject: 'S', body: 'B' };
  const { data: made } = await client.api('POST', '/v1/templates', template);
  const campaign = {
    name: 'C',
    channel: 'email',
    segment_id: big,
    template_id: made['id'],
    goal_event: 'login',
    goal_attribution_days: 2,
  };
  const { data } = await client.api('POST', '/v1/campaigns', campaign);
  const campaign_id = String(data['id']);
  const [variant] = await sql<{ variant_id: string }[]>`
    select variant_id from campaign_variants where campaign_id = ${campaign_id}`;
  const sent_at = new Date(Date.now() - 60_000);
  await storeSends(
    service.platform,
    { tenant_id, project_id },
    players.slice(2, 8).map((player_id) => ({
      player_id,
      campaign_id,
      variant_id: variant?.variant_id ?? randomUUID(),
      sent_at,
      dedup_key: player_id,
    })),
  );
  await storeSends(service.platform, { tenant_id, project_id }, [
    { player_id: players[9] ?? '', sent_at, dedup_key: 'loose' },
  ]);
  const journey_id = await runJourney(service, tenant, players.slice(2, 4));
  const size = async (condition: object) => {
    const definition = { operator: 'AND', conditions: [condition] };
    const answer = await client.api('POST', '/v1/segments/preview', { definition });
    expect(answer.status, JSON.stringify(answer.error)).toBe(200);
    return Number(answer.data['estimated_size']);
  };
  const timelineOf = async (player_id: string) => {
    const { data: rows } = await client.api('GET', `/v1/players/${player_id}/timeline?limit=200`);
    return rows as unknown as object[];
  };
  const others = () => size({ type: 'segment', segment_id: big, op: 'not_in' });
  return {
    tenant,
    client,
    players,
    others,
    timeline: async (player_id) => (await timelineOf(player_id)).length,
    answers: async () => ({
      others: await others(),
      members: await size({ type: 'segment', segment_id: big, op: 'in' }),
      written_to: await size({ type: 'message', channel: 'email', status: 'sent' }),
      logged_in: await size({ type: 'event', event: 'login', aggregate: 'count', op: 'gt', value: 0 }),
      deposited: await size({ ...sum, op: 'eq', value: 1_000 }),
      timelines: await Promise.all(players.map(timelineOf)),
      conversions: (await client.api('GET', `/v1/campaigns/${campaign_id}/conversion-stats`)).data,
      journey: (await client.api('GET', `/v1/journeys/${journey_id}/stats`)).data,
    }),
  };
}

/** Makes a journey with a message, and a run of it for each player; returns its id when all of them have ended. */
async function runJourney(
  service: TestService,
  tenant: TestTenant,
  player_ids: readonly string[],
): Promise<string> {
  const on = runFixture(service, tenant);
  const [template_id, provider_id] = [await on.client.template(), await on.client.provider()];
  const mail = { id: 'mail', type: 'send_message', template_id, provider_id, next: 'end' };
  const settings = { goal: { event: 'login', window_days: 1, exit: false } };
  const journey_id = await on.journey([mail, end()], { kind: 'api' }, settings);
  for (const player_id of player_ids) {
    const run_id = await on.start(journey_id, player_id);
    await until('the message is decided', async (saw) => {
      const { status, history } = saw(await on.run(journey_id, run_id));
      const [step] = history;
      const is_open = ['queued', 'sending', undefined].includes(step?.message_status);
      return status === 'completed' && !is_open;
    });
  }
  await reconcile(service, { tenant_id: tenant.tenant_id });
  return journey_id;
}
