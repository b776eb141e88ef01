import type { Config } from '../config.ts';
import { IDLE_MS } from '../http/auth/console-sessions.ts';
import { countSessions } from '../http/auth/console-session-queries.ts';
import { exposeReading, MAX_COUNTED, type Reading } from '../platform/backlog-gauge.ts';
import { readParts } from '../platform/clickhouse/parts.ts';
import { freeBytes } from '../platform/disk-space.ts';
import type { Platform } from '../platform/platform.ts';
import { readXidAge } from '../platform/postgres/xid-age.ts';
import { readLastReconcile } from '../reconcile/queries.ts';
import { LIMITS, readBriefly } from './backlogs.ts';

/**
 * Adds the metrics of engines, of the disk and of sessions that are read at every scrape: those of servers under one role
 * only, so that few processes ask for the same.
 */
export function exposeReadings(
  { roles, servers, data_dir }: Pick<Config, 'roles' | 'servers' | 'data_dir'>,
  platform: Platform,
  limits = LIMITS,
): void {
  const { logger, metrics } = platform;
  const expose = (reading: Reading) => exposeReading({ registry: metrics.registry, logger, limits }, reading);
  if (roles.has('scheduler')) ofEngines(platform, limits).forEach(expose);
  if (roles.has('api')) ofApi(platform, limits).forEach(expose);
  if (servers === undefined) expose(ofDisk(data_dir));
}

function ofEngines(platform: Platform, limits: typeof LIMITS): Reading[] {
  return [
    {
      name: 'postgres_xid_age',
      help: 'Transaction ids since the oldest row of the Postgres server was frozen',
      read: async () => [{ value: await readBriefly(platform, limits, readXidAge) }],
    },
    {
      name: 'clickhouse_parts',
      help: 'Active parts of each table in ClickHouse',
      labels: ['table'],
      read: async () =>
        (await readParts(platform.clickhouse)).map(({ table, parts }) => ({
          labels: { table },
          value: parts,
        })),
    },
  ];
}

function ofApi(platform: Platform, limits: typeof LIMITS): Reading[] {
  const { clock } = platform;
  let asked: ReturnType<typeof readLastReconcile> | undefined;
  // Gauges are collected at the same time.
  const lastReconcile = () =>
    (asked ??= readBriefly(platform, limits, readLastReconcile).finally(() => {
      asked = undefined;
    }));
  return [
    {
      name: 'sessions_open',
      help: `Sessions of the console that are neither expired nor idle, ${MAX_COUNTED} at most`,
      read: async () => {
        const now = new Date(clock.now_ms());
        const times = { now, idle_since: new Date(now.getTime() - IDLE_MS) };
        return [
          { value: await readBriefly(platform, limits, (tx) => countSessions(tx, times, MAX_COUNTED)) },
        ];
      },
    },
    {
      name: 'reconcile_differences',
      help: 'Differences that the last reconcile of each tenant found',
      labels: ['what'],
      read: async () => {
        const last = await lastReconcile();
        return last === undefined ? [] : [{ labels: { what: 'stores' }, value: last.differences }];
      },
    },
    {
      name: 'reconcile_last_success_timestamp_seconds',
      help: 'When the last reconcile of the tenant ended that was reconciled longest ago',
      read: async () => {
        const last = await lastReconcile();
        return last === undefined ? [] : [{ value: last.ended_at.getTime() / 1_000 }];
      },
    },
  ];
}

function ofDisk(data_dir: string): Reading {
  return {
    name: 'data_dir_free_bytes',
    help: 'Bytes that the service may still write to the disk of DATA_DIR',
    read: async () => [{ value: await freeBytes(data_dir) }],
  };
}
