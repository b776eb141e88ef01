import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exposeReadings } from '../../src/app/readings.ts';
import type { Config, Role } from '../../src/config.ts';
import { IDLE_MS } from '../../src/http/auth/console-sessions.ts';
import { insertSession, touchSession } from '../../src/http/auth/console-session-queries.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { storeReconciliations } from '../../src/reconcile/queries.ts';
import { openFixture, type Fixture } from '../http/api-fixture.ts';

let fixture: Fixture;
let data_dir: string;
beforeAll(async () => {
  data_dir = await mkdtemp(join(tmpdir(), 'engagement-readings-'));
  fixture = await openFixture({}, { own_postgres: true });
});
afterAll(async () => {
  await fixture?.close();
  await rm(data_dir, { recursive: true, force: true });
});

/** So long that on a busy machine no value is left out. */
const PATIENT = { query_ms: 30_000, source_ms: 30_000, total_ms: 60_000 };

/** Reads a line of what a process with these roles exposes; undefined: there is none. */
function watch(roles: readonly Role[], changes: Partial<Pick<Config, 'data_dir' | 'servers'>> = {}) {
  const metrics = { ...createMetrics(), registry: new Registry() };
  const config = { roles: new Set(roles), servers: undefined, data_dir, ...changes };
  exposeReadings(config, { ...fixture.platform, metrics }, PATIENT);
  return async (start: string) => {
    const lines = (await metrics.registry.metrics()).split('\n');
    const value = lines.find((line) => line.startsWith(`${start} `))?.split(' ')[1];
    return value === undefined ? undefined : Number(value);
  };
}

it('sessions of the console are open until they expire or are idle', async () => {
  const read = watch(['api']);
  const sql = fixture.platform.postgres.service;
  expect(await read('sessions_open')).toBe(0);
  const now = new Date(fixture.platform.clock.now_ms());
  const [expires_at, session] = [
    new Date(now.getTime() + 86_400_000),
    { user_id: 'u', display_name: null, provider_sid: null, id_token: null },
  ];
  for (const n of [1, 2, 3]) await insertSession(sql, Buffer.alloc(32, n), session, { now, expires_at });
  expect(await read('sessions_open')).toBe(3);
  await sql`update console_sessions set expires_at = ${now} where id_hash = ${Buffer.alloc(32, 1)}`;
  const idle = new Date(now.getTime() - IDLE_MS);
  await sql`update console_sessions set last_seen_at = ${idle} where id_hash = ${Buffer.alloc(32, 2)}`;
  expect(await read('sessions_open')).toBe(1);
  await touchSession(sql, Buffer.alloc(32, 2), now);
  expect(await read('sessions_open')).toBe(2);
});

it('what the last reconcile of each tenant found, and when the oldest of them was', async () => {
  const read = watch(['api']);
  const sql = fixture.platform.postgres.service;
  const differences = 'reconcile_differences{what="stores"}';
  const success = 'reconcile_last_success_timestamp_seconds';
  expect([await read(differences), await read(success)]).toEqual([undefined, undefined]);
  const [one, other] = [await fixture.makeTenant(), await fixture.makeTenant()];
  const found = (tenant_id: string, count: number, at: string) =>
    storeReconciliations(sql, [{ tenant_id, differences: count }], new Date(at));
  await found(one.tenant_id, 2, '2026-01-02T00:00:00Z');
  await found(other.tenant_id, 3, '2026-01-01T00:00:00Z');
  expect([await read(differences), await read(success)]).toEqual([5, Date.UTC(2026, 0, 1) / 1_000]);
  await found(other.tenant_id, 0, '2026-01-03T00:00:00Z');
  expect([await read(differences), await read(success)]).toEqual([2, Date.UTC(2026, 0, 2) / 1_000]);
});

it('the scheduler reports the engines', async () => {
  const read = watch(['scheduler']);
  const age = (await read('postgres_xid_age')) ?? -1;
  expect(age).toBeGreaterThanOrEqual(0);
  await fixture.platform.postgres.service`select pg_current_xact_id()`;
  expect(await read('postgres_xid_age')).toBeGreaterThan(age);
  expect(await read('clickhouse_parts{table="schema_migrations"}')).toBeGreaterThan(0);
  expect(await read('sessions_open')).toBeUndefined();
});

it('the disk of the embedded engines has free bytes', async () => {
  expect(await watch([])('data_dir_free_bytes')).toBeGreaterThan(0);
  expect(await watch([], { data_dir: join(data_dir, 'none') })('data_dir_free_bytes')).toBeUndefined();
  const servers = {} as Config['servers'];
  expect(await watch([], { servers })('data_dir_free_bytes')).toBeUndefined();
});
