import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { call, CallFailed, type ProvisionedTenant } from '../../scripts/service-api.ts';
import { isReady } from '../../scripts/service-process.ts';
import { connectClickHouse } from '../../src/platform/clickhouse/http.ts';
import { SEED } from '../engines/effort.ts';
import { until } from '../engines/until.ts';
import { startDistributedService, type DistributedService } from './distributed-service.ts';
import { Load } from './load.ts';
import { Model } from './model.ts';
import { medianTook, readMetric, sendPageViews, sendUntil, untilNotShed } from './probe.ts';
import { Random } from './random.ts';
import { verifyEvents, verifyService } from './verify.ts';

const PLAYERS = 40;
/** More events at once than intake queues, so some are refused at once. */
const FLOOD = { connections: 600, batch: 100 };
/** Limit for the whole process, in addition to the limit of its heap. */
const MEMORY_GROWTH_BYTES = 256 * 1024 * 1024;

/**
 * What is promised while one engine after the other is dead. `judges_time`: also how soon requests are answered, for a
 * machine on which nothing else runs.
 */
export function enginesKill({ judges_time }: { judges_time: boolean }): void {
  let service: DistributedService;
  let tenant: ProvisionedTenant;
  /** Its requests only have to be answered; only reconciliation checks its events. */
  let bystander: ProvisionedTenant;
  /** Its key is revoked after an outage of Postgres. */
  let leaving: ProvisionedTenant;
  let model: Model;
  let load: Load;
  beforeAll(async () => {
    service = await startDistributedService({ clickhouse_url: inject('servers').clickhouse_url });
    const newTenant = (name: string) =>
      service.newTenant({ name, base_currency: 'EUR', admin_user_id: name });
    tenant = await newTenant('compared');
    bystander = await newTenant('bystander');
    leaving = await newTenant('leaving');
    const random = new Random(SEED);
    model = new Model(random, PLAYERS);
    load = new Load({ model, random, ingest_url: service.front.ingest_url, api_key: tenant.api_key });
    load.up = true;
  });
  afterAll(async () => service?.close());

  const send = (size: number, { api_key } = bystander) =>
    sendPageViews(service.front.ingest_url, api_key, size);
  const sendOne = (by = bystander) => untilNotShed(() => send(1, by));
  const accepted = () => model.events.reduce((sum, event) => sum + event.accepted, 0);
  /** Resolves when the load makes progress again. */
  const goesOn = (what: string) => {
    const before = accepted();
    return until(what, async (saw) => saw(accepted()) > before + 500, 30_000);
  };
  /**
   * Kafka admits new group members only after the sessions of the killed ones have expired. The load pauses until then,
   * because more load would test nothing more.
   */
  async function restarted(starting: Promise<void>): Promise<void> {
    load.up = false;
    await starting;
    load.up = true;
  }

  it('accepts events while Redis is dead and while the processors are dead', async () => {
    await goesOn('the load begins');
    await service.processors.signal('SIGKILL');
    const coming_back = service.processors.start();
    await service.redis.kill();
    const stop = new AbortController();
    let answered = 0;
    const probes = await sendUntil(stop.signal, 4, async () => {
      const probe = await sendOne();
      if (++answered === 80) stop.abort();
      return probe;
    });
    expect(probes.filter(({ status }) => status !== 202)).toEqual([]);
    if (judges_time) expect(medianTook(probes)).toBeLessThan(2_000);
    expect(await readMetric(service.front.base_url, 'rate_limiter_degraded')).toBe(1);
    await service.redis.restart();
    await until(
      'limits are shared again',
      async (saw) => saw(await readMetric(service.front.base_url, 'rate_limiter_degraded')) === 0,
    );
    await restarted(coming_back);
  });

  it('accepts events while Postgres is dead, and obeys a revocation when it is back', async () => {
    const { front, postgres } = service;
    const stale = (cache: string) => readMetric(front.base_url, `stale_answers_total{cache="${cache}"}`);
    expect((await sendOne(leaving)).status).toBe(202);
    await goesOn('the load goes on before the outage');
    await postgres.kill();
    const stop = new AbortController();
    const probing = sendUntil(stop.signal, 4, () => sendOne());
    // Until what is cached has expired: that takes up to a minute.
    await until(
      'keys and configurations that cannot be loaded again are used',
      async (saw) => saw(await stale('api_keys')) && saw(await stale('tenants')),
      90_000,
    );
    await goesOn('the load goes on without Postgres');
    const unknown = {
      ...leaving,
      api_key: leaving.api_key.replace(/^svc_pk_dev_.{8}/, 'svc_pk_dev_aaaaaaaa'),
    };
    expect(await sendOne(unknown)).toMatchObject({
      status: 503,
      code: 'SERVICE_UNAVAILABLE',
      retry_after: '1',
    });
    expect((await sendOne(leaving)).status).toBe(202);
    stop.abort();
    const probes = await probing;
    expect(probes.filter(({ status }) => status !== 202)).toEqual([]);
    if (judges_time) expect(medianTook(probes)).toBeLessThan(2_000);

    await postgres.restart();
    await until('the key is revoked', async (saw) => saw(await revoke(leaving)), 60_000);
    expect((await sendOne(leaving)).status).toBe(401);
    expect((await sendOne(unknown)).status).toBe(401);
    await goesOn('the load goes on after the outage');
  }, 240_000);

  /** Revokes every key of the tenant; false while the service cannot. */
  async function revoke({ project_id, session_token }: ProvisionedTenant): Promise<boolean> {
    const url = `${service.api.base_url}/v1/projects/${project_id}/api-keys`;
    const headers = { authorization: `Bearer ${session_token}` };
    try {
      const { data } = await call<{ data: { id: string }[] }>(url, { headers });
      for (const { id } of data) await call(`${url}/${id}`, { method: 'DELETE', headers });
      return true;
    } catch (error) {
      if (error instanceof CallFailed && error.status === 503) return false;
      throw error;
    }
  }

  it('refuses events in bounded time and memory while Kafka is dead, and accepts them when it is back', async () => {
    const memory = () => readMetric(service.front.base_url, 'process_resident_memory_bytes');
    const before = (await memory()) ?? 0;
    await service.kafka.kill();
    const stop = AbortSignal.timeout(6_000);
    const flood = sendUntil(stop, FLOOD.connections, () => send(FLOOD.batch));
    await until('it is not ready', async (saw) => !saw(await isReady(service.front.base_url)));
    const probes = await flood;
    // 600 requests at once can also make the process too busy to look at all of them.
    const looked_at = probes.filter(({ is_shed }) => !is_shed);
    expect(new Set(looked_at.map(({ status, code }) => `${status} ${code}`))).toEqual(
      new Set(['503 INGESTION_UNAVAILABLE']),
    );
    for (const { retry_after } of probes) expect(Number(retry_after)).toBeGreaterThanOrEqual(1);
    expect(((await memory()) ?? 0) - before).toBeLessThan(MEMORY_GROWTH_BYTES);
    await service.kafka.restart();
    await goesOn('the load goes on after the outage');
  });

  it('counts every accepted event exactly once after the processors were killed twice more', async () => {
    const { processors, servers, api } = service;
    await processors.signal('SIGKILL');
    // The second kill comes while the processors join their groups.
    const starting = processors.start().catch(() => undefined);
    await sleep(3_000);
    await processors.signal('SIGKILL');
    await starting;
    await restarted(processors.start());
    await goesOn('the load goes on after the last kill');
    await load.finish();
    expect(load.faults).toBe(0);
    expect(load.repeated).toBeGreaterThan(0);
    expect(accepted()).toBeGreaterThan(2_000);
    const differences = await verifyService(api, tenant, model);
    const clickhouse = connectClickHouse(servers.clickhouse_url);
    differences.push(...(await verifyEvents(clickhouse, tenant, model)).differences);
    await clickhouse.close();
    expect(differences).toEqual([]);
    expect(await readMetric(processors.base_url, 'consumer_lag_events')).toBe(0);
    await processors.stop();
    await service.front.stop();
  }, 180_000);
}
