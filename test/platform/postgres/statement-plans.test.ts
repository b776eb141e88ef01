import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { waitUntilCaughtUp } from '../../../src/analytics/caught-up.ts';
import { lapseOnce } from '../../../src/players/kyc/lapse.ts';
import { publishOutbox } from '../../../src/platform/outbox.ts';
import { KYC_EVENTS } from '../../../src/players/kyc/publish.ts';
import { runScheduleJob } from '../../../src/segments/refresh-job.ts';
import { runSizesJob } from '../../../src/segments/sizes.ts';
import { setKycModel, sunk } from '../../engines/service.ts';
import { call } from '../../engines/http-client.ts';
import { until } from '../../engines/until.ts';
import { messagingClient, type MessagingClient } from '../../engage/messaging/messaging-client.ts';
import { growTo } from './growth-queries.ts';
import { startExplainedService, type Execution, type ExplainedService } from './statement-plans.ts';

/** Players of a large project: a scan of any table that grows with them reads several times the slack. */
const LARGE = 20_000;
/** Blocks that a statement may read more in a large project than in an empty one: deeper indexes, other pages. */
const SLACK = { factor: 3, blocks: 150 };
/** The only statement whose work may grow: it sorts all players of a rare status by a column of another table. */
const LISTS_A_RARE_STATUS = "p.status <> 'active'";
/** The library's own statement, in which it calls a function; it runs when a minute begins, so not in every day. */
const STARTS_DUE_JOBS = '_private_known_crontabs';

let explained: ExplainedService;
let client: MessagingClient;
let segment_ids: string[];
beforeEach(async () => {
  explained = await startExplainedService();
  client = messagingClient(explained.service);
  segment_ids = [await client.segment([]), await client.segment([]), await client.segment([])];
});
afterEach(async () => explained?.service.close());

/** A day of an operator with some players, through the front door. Returns what its statements read. */
async function workADay(): Promise<Map<string, Execution>> {
  const { service } = explained;
  await waitUntilCaughtUp(service.platform, 60_000);
  await explained.executions();
  const label = randomUUID().slice(0, 8);
  const known = Array.from({ length: 20 }, (_, i) => ({ anonymous_id: `device-${i + 1}` }));
  const fresh = Array.from({ length: 5 }, (_, i) => ({ anonymous_id: `${label}-${i}` }));
  for (let round = 0; round < 3; round++) {
    await ingest([...known, ...fresh].flatMap((who, i) => eventsOf(who, `${label}-${round}-${i}`)));
  }
  await sunk(service.platform);
  const ids: string[] = [];
  for (const [i, who] of [...known.slice(0, 5), ...fresh].entries()) {
    const external = i % 2 === 0 ? { external_id: `${label}-external-${i}` } : {};
    ids.push(await identify({ ...who, ...external, traits: { email: `${label}-${i}@example.com` } }));
  }
  // Merges the anonymous player into the named one.
  await ingest([{ event: 'session_start', anonymous_id: `${label}-second`, properties: {} }]);
  await sunk(service.platform);
  await identify({ anonymous_id: `${label}-second`, external_id: `${label}-external-0` });
  const [first = '', second = '', third = ''] = ids;
  for (let round = 0; round < 6; round++) {
    await reads(first, label);
    await client.api('PATCH', `/v1/players/${second}`, { custom_attributes: { round } });
  }
  await client.api('DELETE', `/v1/players/${third}`);
  await client.event(first, 'self_exclusion_set');
  await scores([first, second, third]);
  await kyc(second);
  await campaigns(ids.slice(0, 4));
  await segments(first, label);
  // Otherwise it runs in those days in which a minute begins.
  await runScheduleJob(service.platform);
  await waitUntilCaughtUp(service.platform, 60_000);
  return mostOf(await explained.executions());
}

/** A platform and an operator decide about a player's KYC, whose approval ends. */
async function kyc(player_id: string): Promise<void> {
  const { service } = explained;
  await setKycModel(service, service);
  await client.event(player_id, 'kyc_approved', { level: 1, expires_at: '2026-01-01T00:00:00Z' });
  await lapseOnce(service.platform);
  expect((await client.api('POST', `/v1/players/${player_id}/kyc/request`, {})).status).toBe(202);
  expect((await client.api('POST', `/v1/players/${player_id}/kyc/approve`, { level: 2 })).status).toBe(200);
  expect((await client.api('GET', `/v1/players/${player_id}/kyc`)).status).toBe(200);
  await publishOutbox(service.platform, KYC_EVENTS);
}

/** A model of the operator has computed scores. */
async function scores(player_ids: readonly string[]): Promise<void> {
  const { service } = explained;
  const rows = player_ids.map((player_id) => ({ player_id, churn_score: Math.random(), ltv_predicted: 5 }));
  const body = {
    model: 'ours',
    as_of: new Date(service.platform.clock.now_ms()).toISOString(),
    scores: [...rows, { external_id: 'nobody', churn_score: 0 }],
  };
  const answer = await call(`${service.base_url}/v1/scores`, service.api_key, { body });
  expect(answer.status, answer.text).toBe(200);
}

async function reads(player_id: string, label: string): Promise<void> {
  for (const path of [
    `/v1/players/${player_id}`,
    '/v1/players?limit=20',
    '/v1/players?limit=20&status=self_excluded',
    `/v1/players?email=${label}-0@example.com`,
    `/v1/players?external_id=${label}-external-0`,
    `/v1/players/search?q=${label}-0@example.com`,
    `/v1/players/search?q=${label}-`,
    `/v1/players/search?q=${player_id}`,
    `/v1/players/${player_id}/timeline`,
    `/v1/players/${player_id}/reachability`,
    `/v1/players/${player_id}/ledger`,
    `/v1/players/${player_id}/audit`,
    `/v1/players/${player_id}/segments`,
    '/v1/models',
    '/v1/session',
    '/v1/projects',
    '/v1/segments',
    '/v1/campaigns',
    '/v1/templates',
    '/v1/bonus-templates',
    '/v1/bonus-campaigns',
    '/v1/bonus-campaigns?status=draft',
    '/v1/bonus-templates?status=active&type=reload',
    '/v1/audit-log?limit=20',
  ]) {
    const { status, error } = await client.api('GET', path);
    expect(status, `${path} ${JSON.stringify(error)}`).toBe(200);
  }
}

async function campaigns(player_ids: readonly string[]): Promise<void> {
  const segment_id = await client.segment(player_ids);
  const [provider_id, template_id] = await Promise.all([client.provider(), client.template()]);
  const campaign_id = await client.campaign({ segment_id, provider_id, template_id });
  await client.send(campaign_id);
  await client.reaches(campaign_id, 'sent');
  await client.recipients(campaign_id);
  await client.stats(campaign_id);
  const triggered = { type: 'triggered', trigger_event: 'custom_bell', provider_id, template_id };
  const trigger_id = await client.campaign(triggered);
  await client.send(trigger_id);
  await client.event(player_ids[0] ?? '', 'custom_bell');
  await until('the event has fired', async (saw) => {
    const rows = saw(await client.recipients(trigger_id));
    return rows.every(({ status }) => status !== 'queued' && status !== 'sending') ? rows[0] : undefined;
  });
  await client.api('POST', `/v1/campaigns/${trigger_id}/cancel`);
}

async function segments(player_id: string, label: string): Promise<void> {
  const { service } = explained;
  const condition = { type: 'event', event: `custom_${label}`, aggregate: 'count', op: 'gte', value: 1 };
  const definition = { operator: 'AND', conditions: [{ ...condition, window: { last: { days: 7 } } }] };
  const body = { name: `those of ${label}`, definition, refresh_strategy: 'realtime' };
  const { data } = await client.api('POST', '/v1/segments', body);
  const segment_id = String(data['id']);
  await client.event(player_id, `custom_${label}`);
  await until('the player has entered', async (saw) => {
    const player = saw(await client.api('GET', `/v1/players/${player_id}`));
    return (player.data['segment_ids'] as string[]).includes(segment_id);
  });
  await client.api('POST', `/v1/segments/${segment_id}/refresh`);
  const preview = { definition, per_condition: true, reach: true };
  expect((await client.api('POST', '/v1/segments/preview', preview)).status).toBe(200);
  for (const path of ['members?limit=20', 'history', 'references']) {
    expect((await client.api('GET', `/v1/segments/${segment_id}/${path}`)).status, path).toBe(200);
  }
  await runSizesJob(service.platform, AbortSignal.timeout(60_000));
  await client.api('DELETE', `/v1/segments/${segment_id}`);
}

function eventsOf(who: object, label: string) {
  const bet = { amount: 500, currency: 'EUR', bet_id: label, game_id: 'g', game_category: 'slots' };
  const deposit = { amount: 900, currency: 'EUR', transaction_id: label, payment_method: 'card' };
  return [
    { event: 'session_start', ...who, properties: {} },
    { event: 'deposit_confirmed', ...who, properties: deposit },
    { event: 'bet_placed', ...who, properties: bet },
    { event: 'bet_settled', ...who, properties: { ...bet, payout: 0, outcome: 'lost' } },
  ];
}

const asPlayer = (body: unknown) => ({
  method: 'POST',
  headers: { authorization: `Bearer ${explained.service.api_key}`, 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

async function ingest(events: readonly object[]): Promise<void> {
  const answer = await fetch(`${explained.service.ingest_url}/v1/events/batch`, asPlayer({ events }));
  expect(await answer.json()).toMatchObject({ data: { accepted: events.length } });
}

async function identify(body: object): Promise<string> {
  const answer = await fetch(`${explained.service.base_url}/v1/players/identify`, asPlayer(body));
  const { data } = (await answer.json()) as { data: { player_id: string } };
  return data.player_id;
}

/** The execution of each statement that read most. */
function mostOf(executions: readonly Execution[]): Map<string, Execution> {
  const most = new Map<string, Execution>();
  for (const execution of executions) {
    const { statement, blocks } = execution;
    if (blocks > (most.get(statement)?.blocks ?? -1)) most.set(statement, execution);
  }
  return most;
}

/**
 * What the second day in an empty project reads: like every later one, it passes over what earlier days have changed,
 * because nothing vacuums the tables here.
 */
async function workInAnEmptyProject(): Promise<Map<string, Execution>> {
  await workADay();
  return workADay();
}

/** The statements that read more in a day than in `before`, with what they scanned. */
async function grownSince(before: Map<string, Execution>): Promise<string[]> {
  const grown: string[] = [];
  for (const [statement, { blocks, scans }] of await workADay()) {
    const blocks_before = before.get(statement)?.blocks ?? 0;
    if (blocks <= blocks_before * SLACK.factor + SLACK.blocks) continue;
    // It reads no table: now and then an insertion looks at rows whose entries it may remove from a full index page.
    if (scans.every((scan) => scan.startsWith('ModifyTable'))) continue;
    if (statement.includes(LISTS_A_RARE_STATUS) || statement.includes(STARTS_DUE_JOBS)) continue;
    grown.push(`${blocks_before} → ${blocks} blocks: ${scans.join(', ')}: ${statement}`);
  }
  return grown;
}

const analyze = () =>
  explained.service.platform.postgres.service.begin((tx) => tx.unsafe('set local role none; analyze'));

// Most plans are made while the tables are empty, and stay as long as nothing analyses the tables.
it('without statistics no statement reads more in a large project than in an empty one', async () => {
  const empty = await workInAnEmptyProject();
  expect(empty.size).toBeGreaterThan(80);
  await growTo(explained.service, LARGE, segment_ids);
  expect(await grownSince(empty)).toEqual([]);
}, 360_000);

it('with old or fresh statistics no statement reads more in a large project than in an empty one', async () => {
  const empty = await workInAnEmptyProject();
  await analyze();
  await growTo(explained.service, LARGE, segment_ids);
  expect(await grownSince(empty), 'statistics of an empty project').toEqual([]);
  await analyze();
  expect(await grownSince(empty), 'fresh statistics').toEqual([]);
}, 360_000);
