import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { call, callInternal, provisionTenant, type InternalApi } from '../../scripts/service-api.ts';
import { ServiceProcess } from '../../scripts/service-process.ts';
import { freePort } from '../engines/free-port.ts';
import { NO_PROVIDERS } from '../engines/no-providers.ts';
import { runFolder } from '../engines/run-folder.ts';
import { FaultProxy, type FaultProxyOptions } from './fault-proxy.ts';
import type { ReadSide } from './read-side.ts';

const CATCH_UP_MS = 120_000;

/** The real service as a process, with its own engines, and what the runs of clients need of it. */
export class Host {
  readonly dir: string;
  readonly service: ServiceProcess;
  #api: InternalApi;
  #proxies: FaultProxy[] = [];
  #tenants = 0;

  private constructor(dir: string, service: ServiceProcess, api: InternalApi) {
    this.dir = dir;
    this.service = service;
    this.#api = api;
  }

  /** Starts the service in a new folder. */
  static async start(): Promise<Host> {
    const dir = await mkdtemp(join(runFolder(), 'conformance-'));
    // The user that Postgres runs as passes through it.
    await chmod(dir, 0o711);
    const internal_secret = randomUUID() + randomUUID();
    const service = new ServiceProcess({
      data_dir: join(dir, 'data'),
      port: await freePort(),
      ingest_port: await freePort(),
      environment: {
        INTERNAL_SECRET: internal_secret,
        LOG_LEVEL: 'warn',
        // The proxies name the addresses of visitors.
        TRUSTED_PROXIES: '127.0.0.1/32',
        RATE_INGEST_PER_SECOND: '1000000',
        RATE_INGEST_BURST: '1000000',
        RATE_ADMIN_PER_SECOND: '1000000',
        ...NO_PROVIDERS,
      },
    });
    const host = new Host(dir, service, { base_url: service.base_url, internal_secret });
    await service.start();
    return host;
  }

  /** Makes a tenant with a server key. */
  async newTenant(): Promise<ReadSide> {
    const name = `Tenant ${++this.#tenants}`;
    const admin_user_id = `admin-${this.#tenants}`;
    const tenant = await provisionTenant(this.#api, {
      name,
      base_currency: 'EUR',
      project_name: name,
      admin_user_id,
    });
    return { base_url: this.service.base_url, tenant };
  }

  /** Makes a key of the tenant. */
  async newKey({ tenant }: ReadSide, body: object): Promise<{ key: string; client_secret: string }> {
    const headers = { authorization: `Bearer ${tenant.session_token}` };
    const url = `${this.service.base_url}/v1/projects/${tenant.project_id}/api-keys`;
    const { data } = await call<{ data: { key: string; client_secret: string } }>(url, {
      method: 'POST',
      headers,
      body,
    });
    return data;
  }

  /** Changes the configuration of the tenant. */
  async configure({ tenant }: ReadSide, config: object): Promise<void> {
    const headers = { authorization: `Bearer ${tenant.session_token}` };
    const url = `${this.service.base_url}/v1/tenant/config`;
    await call(url, { method: 'PATCH', headers, body: { config } });
  }

  /** Puts a proxy before the ingestion host. It is closed with this host. */
  async newProxy(options: Omit<FaultProxyOptions, 'target'>): Promise<FaultProxy> {
    const target = { host: '127.0.0.1', port: Number(new URL(this.service.ingest_url).port) };
    const proxy = await FaultProxy.start({ ...options, target });
    this.#proxies.push(proxy);
    return proxy;
  }

  /** Resolves when every accepted event of the tenant is folded, in ClickHouse and mirrored. */
  async catchUp({ tenant: { tenant_id } }: ReadSide): Promise<void> {
    // Runs take turns: one over the tenants of all tests would let the others wait for long.
    await callInternal(this.#api, 'reconcile', { method: 'POST', body: { tenant_id, wait_ms: CATCH_UP_MS } });
  }

  async close(): Promise<void> {
    for (const proxy of this.#proxies) await proxy.close();
    await this.service.stop();
    await rm(this.dir, { recursive: true, force: true });
  }
}
