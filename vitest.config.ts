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

if (EFFORT === 'nightly') console.log(`TEST_SEED=${SEED} repeats what is drawn in this run`);

const left_out: Record<Effort, string[]> = {
  quick: [FROM_CI_ON, AT_NIGHT].flatMap((lists) => Object.values(lists).flat()),
  ci: Object.values(AT_NIGHT).flat(),
  nightly: [],
};

const shared = {
  // The embedded ClickHouse allows one data folder per process at a time, so files run one after the other in each.
  pool: 'forks' as const,
  // A worker imports the code once. Each file closes what it opened, and has databases and topics of its own.
  isolate: false,
  setupFiles: ['test/engines/seed-properties.ts'],
  testTimeout: EFFORT === 'nightly' ? 1_200_000 : 120_000,
  hookTimeout: 180_000,
  teardownTimeout: 30_000,
  expect: { poll: { timeout: 20_000 } },
  // Also for the services that tests start as processes, and for the workers of a night, which share its seed.
  env: { ...NO_PROVIDERS, TEST_SEED: String(SEED) },
};

const embedded = {
  test: {
    ...shared,
    name: 'embedded',
    include: ['test/**/*.test.ts'],
    exclude: ['test/**/*.distributed.test.ts', IN_A_BROWSER, MEASURING_TIME, ...left_out[EFFORT]],
    // Twice the processors of the smallest machine: files wait for time-outs and processes for a third of their time.
    maxWorkers: 4,
    globalSetup: ['test/engines/shared-postgres.ts'],
  },
};

const browser = {
  test: {
    ...shared,
    name: 'browser',
    include: [IN_A_BROWSER],
    maxWorkers: 2,
    globalSetup: ['test/engines/shared-postgres.ts'],
    sequence: { groupOrder: 1 },
  },
};

const onServers = {
  ...shared,
  env: { ...shared.env, TEST_WIRING: 'distributed' },
  globalSetup: ['test/engines/global-setup.ts'],
};

const distributed = {
  test: {
    ...onServers,
    name: 'distributed',
    include: DEPENDS_ON_SERVERS,
    exclude: [MEASURING_TIME_ON_SERVERS, ...left_out[EFFORT]],
    // They wait for servers most of the time. Files that kill one start one of their own.
    maxWorkers: 3,
    sequence: { groupOrder: 2 },
  },
};

const distributed_time = {
  test: {
    ...onServers,
    name: 'distributed-time',
    include: [MEASURING_TIME_ON_SERVERS],
    maxWorkers: 1,
    sequence: { groupOrder: 3 },
  },
};

/** Everything that the other projects do not run on servers, so that a new file runs there unless it is excluded. */
const distributed_rest = {
  test: {
    ...onServers,
    name: 'distributed-rest',
    // The night's long searches are those of the embedded suite; here they meet other engines.
    env: { ...onServers.env, TEST_EFFORT: 'ci' },
    include: ['test/**/*.test.ts'],
    exclude: [
      IN_A_BROWSER,
      ...DEPENDS_ON_SERVERS,
      MEASURING_TIME,
      MEASURING_TIME_ON_SERVERS,
      ...Object.values(NEVER_ON_SERVERS).flat(),
    ],
    maxWorkers: 2,
    sequence: { groupOrder: 4 },
  },
};

const time = {
  test: {
    ...shared,
    name: 'time',
    include: [MEASURING_TIME],
    exclude: left_out[EFFORT],
    maxWorkers: 1,
    globalSetup: ['test/engines/shared-postgres.ts'],
    sequence: { groupOrder: 5 },
  },
};

const ci = [embedded, browser, distributed, distributed_time, time];
const projects = { quick: [embedded, time], ci, nightly: [...ci, distributed_rest] };

export default defineConfig({
  test: { sequence: { sequencer: LongestFirst }, projects: projects[EFFORT] },
});
