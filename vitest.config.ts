import { defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';
import { EFFORT, SEED, type Effort } from './test/engines/effort.ts';
import { LongestFirst } from './test/engines/longest-first.ts';
import { NO_PROVIDERS } from './test/engines/no-providers.ts';
import {
  AT_NIGHT,
  DEPENDS_ON_SERVERS,
  FROM_CI_ON,
  IN_A_BROWSER,
  MEASURING_TIME,
  MEASURING_TIME_ON_SERVERS,
  NEVER_ON_SERVERS,
} from './test/engines/suites.ts';

const shared = {
  // The embedded ClickHouse allows one data folder per process at a time, so files run one after the other in each.
  pool: 'forks' as const,
  // A worker imports the code once. Each file closes what it opened, and has databases and topics of its own, except for
  // files that share a service or an API (test/engines/lasting.ts): they have tenants of their own.
  isolate: false,
  // As in the service. Otherwise the collector of garbage takes a tenth of a worker's time.
  execArgv: ['--max-semi-space-size=64'],
  setupFiles: ['test/engines/seed-properties.ts'],
  // Large counts take longer.
  testTimeout: EFFORT === 'nightly' ? 1_200_000 : 120_000,
  hookTimeout: 120_000,
  teardownTimeout: 30_000,
  expect: { poll: { timeout: 20_000 } },
  // Also for the services that tests start as processes. All workers draw from one seed.
  env: { ...NO_PROVIDERS, TEST_SEED: String(SEED) },
};

const onServers = {
  ...shared,
  // What is drawn is searched by the embedded project. Here less of it meets other engines.
  env: { ...shared.env, TEST_WIRING: 'distributed', TEST_EFFORT: EFFORT === 'nightly' ? 'ci' : 'quick' },
  globalSetup: ['test/engines/global-setup.ts'],
  hookTimeout: 180_000,
};

/**
 * The embedded, browser and distributed projects run at the same time (see longest-first.ts), with twice the processors
 * of the smallest machine: files wait for time-outs, servers and processes for a third of their time. Vitest requires one
 * number of workers for projects that run together.
 */
const WORKERS = 4;

/** The projects of an effort: `quick` needs nothing but `npm ci`, `ci` a browser and servers as well. */
export function projectsOf(effort: Effort) {
  const left_out = {
    quick: Object.values({ ...FROM_CI_ON, ...AT_NIGHT }).flat(),
    ci: Object.values(AT_NIGHT).flat(),
    nightly: [],
  }[effort];
  const embedded = {
    ...shared,
    name: 'embedded',
    include: ['test/**/*.test.ts'],
    exclude: ['test/**/*.distributed.test.ts', IN_A_BROWSER, MEASURING_TIME, ...left_out],
    maxWorkers: WORKERS,
    globalSetup: ['test/engines/shared-postgres.ts'],
  };
  const browser = {
    ...shared,
    name: 'browser',
    include: [IN_A_BROWSER],
    exclude: left_out,
    maxWorkers: WORKERS,
    globalSetup: ['test/engines/shared-postgres.ts'],
  };
  const distributed = {
    ...onServers,
    name: 'distributed',
    include: DEPENDS_ON_SERVERS,
    exclude: [MEASURING_TIME_ON_SERVERS, ...left_out],
    // Files that kill a server start one of their own.
    maxWorkers: WORKERS,
  };
  const distributed_time = {
    ...onServers,
    name: 'distributed-time',
    include: [MEASURING_TIME_ON_SERVERS],
    exclude: left_out,
    maxWorkers: 1,
    sequence: { groupOrder: 1 },
  };
  const distributed_rest = {
    ...onServers,
    name: 'distributed-rest',
    // Everything that the other projects do not run on servers, so that a new file runs there unless it is excluded.
    include: ['test/**/*.test.ts'],
    exclude: [
      IN_A_BROWSER,
      ...DEPENDS_ON_SERVERS,
      MEASURING_TIME,
      MEASURING_TIME_ON_SERVERS,
      ...Object.values(NEVER_ON_SERVERS).flat(),
    ],
    maxWorkers: 2,
    sequence: { groupOrder: 2 },
  };
  const time = {
    ...shared,
    name: 'time',
    include: [MEASURING_TIME],
    exclude: left_out,
    maxWorkers: 1,
    globalSetup: ['test/engines/shared-postgres.ts'],
    sequence: { groupOrder: 3 },
  };
  const quick = [embedded, time];
  const ci = [...quick, browser, distributed, distributed_time];
  return { quick, ci, nightly: [...ci, distributed_rest] }[effort];
}

if (EFFORT === 'nightly') console.log(`TEST_SEED=${SEED} repeats what this run draws`);

/** The packages of this repository from their source. */
const resolve = { conditions: ['@player-engagement/source', ...defaultServerConditions] };

export default defineConfig({
  test: {
    // The projects have a server of Vite each: what one has compiled, the others read. The names of the files are hashes of
    // their source and of the settings.
    experimental: { fsModuleCache: true, fsModuleCachePath: '.cache/modules' },
    sequence: { sequencer: LongestFirst },
    projects: projectsOf(EFFORT).map((test) => ({ resolve, ssr: { resolve }, test })),
  },
});
