import { pino } from 'pino';
import { Gauge, Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { exposeWaiting } from '../../src/app/backlogs.ts';
import { exposeReadings } from '../../src/app/readings.ts';
import { ROLES } from '../../src/config.ts';
import { RecordAges } from '../../src/platform/event-log/record-ages.ts';
import type { Platform } from '../../src/platform/platform.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const ENGINES = ['event log', 'Postgres', 'ClickHouse'] as const;

it.each(ENGINES)(
  'a scrape ends within 5 s while no answer comes: %s, and has what is known',
  async (hanging) => {
    const registry = new Registry();
    let unanswered = 0;
    const ask = (engine: (typeof ENGINES)[number]) => () => {
      if (engine !== hanging) return Promise.reject(new Error('away'));
      unanswered++;
      return new Promise<never>(() => undefined);
    };
    const clock = { now_ms: () => Date.now() };
    const platform = {
      clock,
      logger: pino({ level: 'silent' }),
      metrics: { registry },
      eventLog: { lag: ask('event log') },
      postgres: { service: { begin: ask('Postgres') } },
      clickhouse: { query: ask('ClickHouse') },
    } as unknown as Platform;
    exposeWaiting(platform, new RecordAges({ clock, receivedAt: () => undefined }), new Set(ROLES));
    exposeReadings({ roles: new Set(ROLES), servers: undefined, data_dir: '/nowhere' }, platform);
    new Gauge({ name: 'known', help: 'Known', registers: [registry] }).set(1);
    let text = '';
    void registry.metrics().then((metrics) => {
      text = metrics;
    });
    // No engine is asked after 4 s, and an answer is awaited for a second.
    await vi.advanceTimersByTimeAsync(5_000);
    const values = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(values).toEqual(['known 1']);
    expect(unanswered).toBeGreaterThan(0);
  },
);
