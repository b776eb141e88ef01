import postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openEmbeddedPlatform } from '../../src/app/wiring/embedded.ts';
import type { Tx } from '../../src/platform/postgres/port.ts';
import { call } from '../engines/http-client.ts';
import { folded, startTestService, type TestService } from '../engines/service.ts';
import { openTestPostgres } from '../engines/wiring.ts';

// What one process with every role takes of a server, however much it has to do.

const MOST = 33;
/** More at once than any purpose may have. */
const MANY = 25;

let service: TestService;
let url = '';
let observer: postgres.Sql;
beforeAll(async () => {
  service = await startTestService({}, (config) =>
    openEmbeddedPlatform(config, undefined, async () => {
      const server = await openTestPostgres({ prepared: true });
      url = server.url;
      return { url, stop: () => server.close() };
    }),
  );
  observer = postgres(url, { max: 1 });
});
afterAll(async () => {
  await observer?.end();
  await service?.close();
});

async function connections(): Promise<number> {
  const [row] = await observer`
    select count(*)::integer as count from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`;
  return row?.['count'] as number;
}

/** The most connections at any time until all of `work` has ended. */
async function peakDuring(work: Promise<unknown>[]): Promise<number> {
  const over = new AbortController();
  const ended = Promise.allSettled(work).then(() => over.abort());
  let peak = 0;
  while (!over.signal.aborted) peak = Math.max(peak, await connections());
  await ended;
  return peak;
}

it('a process has at most 33 connections, three of them of the embedded log, while every purpose has more to do than it may do at once', async () => {
  const { platform, tenant_id, session_token, api_key, ingest_url, base_url } = service;
  const { service: processors, lookups, watch, ...pools } = platform.postgres;
  const linger = (sql: Tx) => sql<{ slept: string }[]>`select pg_sleep(0.1)::text as slept`;
  const lingering = async (sql: Tx) => linger(sql);
  const event = { body: { event: 'session_start', anonymous_id: 'device', properties: {} } };
  const purposes: (() => Promise<unknown>)[] = [
    () => lingering(processors),
    () => processors.begin(lingering),
    () => lingering(lookups),
    () => lookups.begin(lingering),
    () => lingering(watch),
    () => pools.ping(),
    () => pools.asTenant(tenant_id, lingering),
    () => pools.readAsTenant(tenant_id, linger),
    () => pools.countAsTenant(tenant_id, linger),
    () => pools.session(({ sql }) => lingering(sql)),
    () => pools.patientSession(({ sql }) => lingering(sql)),
    () => pools.requestSession(({ sql }) => lingering(sql)),
    () => call(`${ingest_url}/v1/events`, api_key, event),
    ...['players', 'segments', 'templates', 'campaigns', 'journeys', 'bonus-grants'].map(
      (list) => () => call(`${base_url}/v1/${list}`, session_token),
    ),
  ];
  const peak = await peakDuring(Array.from({ length: MANY }, () => purposes.map((use) => use())).flat());
  await folded(platform);
  expect(peak).toBeLessThanOrEqual(MOST);
  expect(await connections()).toBeLessThanOrEqual(MOST);
});
