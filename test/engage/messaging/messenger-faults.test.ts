import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { FanOut } from '../../../src/engage/campaigns/fan-out.ts';
import { Messenger, type MessengerDeps } from '../../../src/engage/messaging/messenger.ts';
import type { Db, Tx } from '../../../src/platform/postgres/port.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { messagingClient, type MessagingClient } from './messaging-client.ts';

const SETTINGS = {
  credentials_keys: { current: '00'.repeat(32), previous: undefined },
  link_key: Buffer.alloc(32),
  public_url: 'http://localhost',
};

let service: TestService;
let client: MessagingClient;
let tenant: Awaited<ReturnType<TestService['newTenant']>>;
let messenger: Messenger | undefined;
/** Providers that accept requests and never answer. */
let silent: readonly [Server, Server];
beforeAll(async () => {
  // Runs every role except the messenger, which each test drives itself.
  service = await startTestService({
    credentials_key: SETTINGS.credentials_keys.current,
    roles: new Set(['api', 'intake', 'player-fold', 'player-mirror']),
  });
  const listening = () => createServer(() => undefined).listen(0, '127.0.0.1');
  silent = [listening(), listening()];
});
afterAll(async () => {
  for (const server of silent ?? []) server.close();
  await service?.close();
});
beforeEach(async () => {
  tenant = await service.newTenant();
  client = messagingClient(service, tenant);
});
afterEach(async () => {
  for (const server of silent) server.closeAllConnections();
  await messenger?.close();
  messenger = undefined;
});

/** Sends a campaign and runs its fan-out, so that its rows exist. */
async function sending(players = 1, provider: Record<string, unknown> = {}) {
  const provider_id = await client.provider(provider);
  const template_id = await client.template();
  const segment_id = await client.segment(await client.players(players));
  const campaign_id = await client.campaign({ segment_id, template_id, provider_id });
  expect((await client.send(campaign_id)).status).toBe(200);
  const fanOut = new FanOut(service.platform);
  while (await fanOut.turn());
  return { campaign_id, provider_id };
}

/** Sends a campaign to one player through a SendGrid provider at this server. */
function sendingInto(server: Server) {
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return sending(1, { kind: 'sendgrid', config: { base_url, from: 'hi@casino.example', api_key: 'key' } });
}

/** The platform, with statements of the service role replaced by those in `broken`. */
function withService(broken: Partial<Db>): MessengerDeps {
  const { postgres } = service.platform;
  const through = new Proxy(postgres.service, {
    get: (target, name) => broken[name as keyof Db] ?? (Reflect.get(target, name) as unknown),
  });
  return { ...service.platform, postgres: { ...postgres, service: through } };
}

const turnsUntil = (what: string, isSo: () => Promise<boolean>) =>
  until(what, async (saw) => {
    await messenger?.turn();
    return saw(await isSo());
  });
const codes = async (campaign_id: string) =>
  (await client.recipients(campaign_id)).map(({ status, error_code }) => `${status} ${error_code}`);

it('campaigns that wait for a paused provider do not delay the campaigns behind them', async () => {
  const waiting: string[] = [];
  for (let n = 0; n < 14; n++) {
    const { campaign_id, provider_id } = await sending();
    await client.api('PATCH', `/v1/messaging-providers/${provider_id}`, { status: 'paused' });
    waiting.push(campaign_id);
  }
  const { campaign_id } = await sending();
  messenger = new Messenger(service.platform, SETTINGS);
  await turnsUntil('the last campaign went out', async () =>
    (await codes(campaign_id)).includes('sent null'),
  );
  for (const id of waiting) expect(await codes(id)).toEqual(['queued null']);
});

it('a cancelled campaign does not wait for its retries', async () => {
  const { campaign_id } = await sending();
  await service.platform.postgres.service`
    update message_sends set retry_at = now() + interval '1 day' where campaign_id = ${campaign_id}`;
  await client.api('POST', `/v1/campaigns/${campaign_id}/cancel`);
  messenger = new Messenger(service.platform, SETTINGS);
  await turnsUntil('it is skipped', async () =>
    (await codes(campaign_id)).includes('failed SKIPPED_CANCELLED'),
  );
});

it('messages are sent after a failure between claim and hand-over', async () => {
  const { campaign_id, provider_id } = await sending(3);
  let failures = 0;
  // The messenger reads templates after it has claimed messages and before it hands any over.
  const { service: whole } = service.platform.postgres;
  const failing = new Proxy(whole, {
    apply(target, self, args: [TemplateStringsArray, ...unknown[]]) {
      if (failures === 0 && String(args[0]).includes('from templates')) {
        failures += 1;
        return Promise.reject(new Error('the connection was lost'));
      }
      return Reflect.apply(target as unknown as (...given: unknown[]) => unknown, self, args);
    },
  });
  const { platform } = service;
  messenger = new Messenger({ ...platform, postgres: { ...platform.postgres, service: failing } }, SETTINGS);
  await turnsUntil('all have gone out', async () =>
    (await codes(campaign_id)).every((code) => code === 'sent null'),
  );
  expect(failures).toBe(1);
  expect(await client.messages(provider_id)).toHaveLength(3);
});

it('after a failed batch, too, whatever is claimed is claimed until a time to come', async () => {
  const { service: whole } = service.platform.postgres;
  let [is_begun, is_failed] = [false, false];
  let fail = (): void => undefined;
  const to_fail = new Promise<void>((resolve) => (fail = resolve));
  const alive: (boolean | null)[] = [];
  const begin = (async (work: (tx: Tx) => Promise<unknown>) => {
    if (!is_failed) {
      is_begun = true;
      await to_fail;
      is_failed = true;
      throw new Error('the connection was lost');
    }
    const done = await whole.begin(work);
    const rows = await whole<{ is_alive: boolean | null }[]>`
      select claimed_until > now() as is_alive
      from message_sends s where s.status = 'sending' and s.tenant_id = ${tenant.tenant_id}`;
    alive.push(...rows.map(({ is_alive }) => is_alive));
    return done;
  }) as Db['begin'];
  const failing = new Proxy(whole, {
    get: (target, name) => (name === 'begin' ? begin : (Reflect.get(target, name) as unknown)),
    apply(target, self, args: [TemplateStringsArray, ...unknown[]]) {
      const ask = () => Reflect.apply(target as unknown as (...given: unknown[]) => unknown, self, args);
      // The messenger looks for queues before it claims.
      if (!is_begun || is_failed || !String(args[0]).includes('with recursive hop')) return ask();
      fail();
      return until('a batch failed', () => Promise.resolve(is_failed)).then(ask);
    },
  });
  await sending();
  const { platform } = service;
  messenger = new Messenger({ ...platform, postgres: { ...platform.postgres, service: failing } }, SETTINGS);
  await turnsUntil('a batch is claimed', () => Promise.resolve(is_begun));
  await sendingInto(silent[0]);
  let is_on_its_way = false;
  silent[0].once('request', () => (is_on_its_way = true));
  await turnsUntil('a message is on its way', () => Promise.resolve(is_on_its_way));
  expect(new Set(alive)).toEqual(new Set([true]));
});

it('messages of a claim whose commit was not confirmed are given up, although other sends stay in flight', async () => {
  const [first, second] = silent;
  let is_broken = false;
  const { service: whole } = service.platform.postgres;
  const begin = (async (work: (tx: Tx) => Promise<unknown>) => {
    const done = await whole.begin(work);
    if (is_broken && Array.isArray(done) && done.length > 0) {
      is_broken = false;
      throw new Error('the connection was lost after the commit');
    }
    return done;
  }) as Db['begin'];
  messenger = new Messenger(withService({ begin }), SETTINGS);
  const reaches = ({ campaign_id }: { campaign_id: string }, code: string) =>
    turnsUntil(`${campaign_id} is ${code}`, async () => (await codes(campaign_id)).includes(code));
  const early = await sendingInto(first);
  await reaches(early, 'sending null');
  const lost = await sending();
  is_broken = true;
  await reaches(lost, 'sending null');
  const late = await sendingInto(second);
  await reaches(late, 'sending null');
  first.closeAllConnections();
  // Both claims pass soon: the messenger extends the one whose message is on its way.
  await service.platform.postgres.service`
    update message_sends set claimed_until = now() + interval '6 seconds'
    where tenant_id = ${tenant.tenant_id} and status = 'sending'`;
  await reaches(lost, 'failed OUTCOME_UNKNOWN');
  expect(await codes(late.campaign_id)).toEqual(['sending null']);
});

it('a message that is being sent without a claim is given up, and not sent', async () => {
  const { campaign_id, provider_id } = await sending();
  await service.platform.postgres.service`
    update message_sends set status = 'sending', attempts = 1 where campaign_id = ${campaign_id}`;
  messenger = new Messenger(service.platform, SETTINGS);
  await turnsUntil('it is given up', async () =>
    (await codes(campaign_id)).includes('failed OUTCOME_UNKNOWN'),
  );
  expect(await client.messages(provider_id)).toEqual([]);
});

it('results that are written twice do not send a message again that another batch is sending', async () => {
  const answers: (() => void)[] = [];
  const server = createServer((_request, response) => {
    const [status, headers] = answers.length === 0 ? [429, { 'retry-after': '0' }] : [202, {}];
    answers.push(() => response.writeHead(status, headers).end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const other = new Messenger(service.platform, SETTINGS);
  try {
    const { campaign_id } = await sendingInto(server);
    const { service: whole } = service.platform.postgres;
    let writes = 0;
    const release: (() => void)[] = [];
    // The first write of the results is committed, but not confirmed until another messenger has taken the message.
    const begin = (async (work: (tx: Tx) => Promise<unknown>) => {
      const done = await whole.begin(work);
      if (done !== undefined) return done;
      writes += 1;
      if (writes > 1) return done;
      await new Promise<void>((resolve) => release.push(resolve));
      throw new Error('the connection was lost after the commit');
    }) as Db['begin'];
    messenger = new Messenger(withService({ begin }), SETTINGS);
    await turnsUntil('the message is handed over', () => Promise.resolve(answers.length === 1));
    answers[0]?.();
    await turnsUntil('its result is written', () => Promise.resolve(release.length === 1));
    expect(await codes(campaign_id)).toEqual(['queued null']);
    await whole`update message_sends set retry_at = null where campaign_id = ${campaign_id}`;
    await until('the other messenger hands it over', async () => {
      await other.turn();
      return answers.length === 2;
    });
    release[0]?.();
    await turnsUntil('the result is written again', () => Promise.resolve(writes === 2));
    expect(await codes(campaign_id)).toEqual(['sending null']);
    answers[1]?.();
    await until('it is sent', async (saw) => saw(await codes(campaign_id)).includes('sent null'));
    expect(answers).toHaveLength(2);
  } finally {
    server.closeAllConnections();
    server.close();
    await other.close();
  }
});
