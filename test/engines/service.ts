import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newestCorrection, pendingWork } from '../../src/analytics/correction-queries.ts';
import { createApiKey } from '../../src/tenants/api-keys/create.ts';
import { readConfig, type Config } from '../../src/config.ts';
import { startService, type Service } from '../../src/app/service.ts';
import { fetchRatesOfNewTenant } from '../../src/ledger/fx/fetch-job.ts';
import { GROUPS, TOPICS } from '../../src/platform/event-log/topics.ts';
import { createTenant } from '../../src/tenants/provision.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { call } from './http-client.ts';
import { NO_PROVIDERS } from './no-providers.ts';
import { runFolder } from './run-folder.ts';
import { until } from './until.ts';
import { openTestPlatform } from './wiring.ts';

/** A tenant made for one test, with an owner's session and an API key of its first project. */
export interface TestTenant {
  tenant_id: string;
  project_id: string;
  api_key: string;
  /** The user who owns the tenant. */
  owner: string;
  session_token: string;
}

/** The whole service on its own engines, over real HTTP. */
export interface TestService extends TestTenant {
  base_url: string;
  ingest_url: string;
  internal_secret: string;
  platform: Platform;
  service: Service;
  data_dir: string;
  /** Creates another tenant. */
  newTenant(base_currency?: string): Promise<TestTenant>;
  close(): Promise<void>;
}

/** Limits so high that a test reaches them only on purpose. */
const UNLIMITED = { per_second: 100_000, burst: 100_000 };

/** Starts the service on free ports and an empty data folder; `close` removes the folder. */
export async function startTestService(
  overrides: Partial<Config> = {},
  openPlatform: (config: Config) => Promise<Platform> = openTestPlatform,
): Promise<TestService> {
  const data_dir = await mkdtemp(join(runFolder(), 'engagement-test-'));
  const config: Config = {
    ...readConfig({ DATA_DIR: data_dir, PORT: '0', INGEST_PORT: '0', LOG_LEVEL: 'error', ...NO_PROVIDERS }),
    rates: { ingest: UNLIMITED, identify: UNLIMITED, admin: UNLIMITED },
    ...overrides,
  };
  let service: Service | undefined;
  const close = async () => {
    try {
      await service?.close();
    } finally {
      await rm(data_dir, { recursive: true, force: true });
    }
  };
  try {
    const platform = await openPlatform(config);
    // Closes the platform, also when it fails. An embedded one that stayed open would fail every later file of this
    // process.
    service = await startService(config, platform);
    const { base_url, ingest_url, auth } = service;
    if (base_url === undefined || ingest_url === undefined || auth === undefined) {
      throw new Error('a test service needs the roles api and intake');
    }
    const { internal_secret } = auth;
    const newTenant = tenantMaker(config, platform, service);
    const first = await newTenant();
    return { ...first, base_url, ingest_url, internal_secret, platform, service, data_dir, newTenant, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function tenantMaker(config: Config, platform: Platform, service: Service): TestService['newTenant'] {
  // Without a rate provider a fetch fails only after seconds, and every service would wait for it when it closes.
  const has_providers = config.fx.fiat_url !== NO_PROVIDERS.FX_FIAT_URL;
  const onTenantCreated = has_providers ? fetchRatesOfNewTenant(platform.jobs) : () => Promise.resolve();
  let users = 0;
  return async (base_currency = 'EUR') => {
    const owner = `owner-${++users}`;
    const project = await createTenant(
      platform.postgres.service,
      { notifications: service.notifications, onTenantCreated },
      {
        name: `Test operator ${users}`,
        base_currency,
        project_name: 'Test casino',
        admin_user_id: owner,
      },
    );
    const { key } = await createApiKey(platform, {
      ...project,
      name: 'test',
      environment: config.service_env,
    });
    const session_token = (await service.auth?.dev_issuer?.issueSession(owner)) ?? '';
    return { ...project, api_key: key, owner, session_token };
  };
}

/** Sets the tenant's kyc_model: with `dual` its kyc_* events, platforms and operators all decide. */
export async function setKycModel(
  { base_url }: Pick<TestService, 'base_url'>,
  { session_token }: Pick<TestTenant, 'session_token'>,
  kyc_model = 'dual',
): Promise<void> {
  const { status, text } = await call(`${base_url}/v1/tenant/config`, session_token, {
    method: 'PATCH',
    body: { kyc_model },
  });
  if (status !== 200) throw new Error(`the kyc_model was not set: ${text}`);
}

/** Resolves when the fold has processed every event accepted before the call. */
export async function folded(platform: Platform, timeout_ms = 60_000): Promise<void> {
  await untilRead(platform, { topic: TOPICS.events, group: GROUPS.fold }, timeout_ms);
}

/** Resolves when ClickHouse has every event accepted before the call. */
export async function sunk(platform: Platform, timeout_ms = 60_000): Promise<void> {
  await folded(platform, timeout_ms);
  await untilRead(platform, { topic: TOPICS.playerEvents, group: GROUPS.sink }, timeout_ms);
}

/** Resolves when ClickHouse has what every event accepted before the call counts, and what it changed of earlier ones. */
export async function counted(platform: Platform, timeout_ms = 60_000): Promise<void> {
  await sunk(platform, timeout_ms);
  const sql = platform.postgres.service;
  const until_correction = await newestCorrection(sql);
  await until(
    'what events count is corrected in ClickHouse',
    async (saw) => saw(await pendingWork(sql, until_correction)).corrections === 0n,
    timeout_ms,
  );
}

/** Waits for the present end of the topic: where more comes all the time, a later end may never be reached. */
async function untilRead(
  { eventLog }: Platform,
  { topic, group }: { topic: string; group: string },
  timeout_ms: number,
): Promise<void> {
  const ends = await eventLog.endOffsets(topic);
  await until(
    `${group} reaches the end of ${topic}`,
    async (saw) => {
      const lag = saw(await eventLog.lag(topic, group));
      return lag.every(({ partition, next_offset }) => next_offset >= (ends.get(partition) ?? 0n));
    },
    timeout_ms,
  );
}
