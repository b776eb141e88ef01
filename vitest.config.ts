import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/engines/longest-first.ts';
import { NO_PROVIDERS } from './test/engines/no-providers.ts';
import {
  BESIDE_SERVERS,
  DEPENDS_ON_SERVERS,
  IN_A_BROWSER,
  MEASURING_TIME,
  MEASURING_TIME_ON_SERVERS,
  NEVER_ON_SERVERS,
} from './test/engines/suites.ts';

const shared = {
  // The embedded ClickHouse allows one data folder per process at a time, so files run one after the other in each.
  pool: 'forks' as const,
  // A worker imports the code once. Each file closes what it opened, and has databases and topics of its own.
  isolate: false,
  testTimeout: 120_000,
  hookTimeout: 120_000,
  teardownTimeout: 30_000,
  expect: { poll: { timeout: 20_000 } },
  // Also for the services that tests start as processes.
  env: NO_PROVIDERS,
};

/** The properties themselves are searched by the embedded suite; on servers they only meet other engines. */
const { EXCLUSION_RUNS = '200', FUZZ_RUNS = '60', ORACLE_RUNS = '2' } = process.env;

const onServers = {
  ...shared,
  env: { ...shared.env, TEST_WIRING: 'distributed', EXCLUSION_RUNS, FUZZ_RUNS, ORACLE_RUNS },
  globalSetup: ['test/engines/global-setup.ts'],
  hookTimeout: 180_000,
};

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'embedded',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.distributed.test.ts', IN_A_BROWSER, MEASURING_TIME, ...BESIDE_SERVERS],
          // Twice the processors of the smallest machine: files wait for time-outs and processes for a third of their time.
          maxWorkers: 4,
          globalSetup: ['test/engines/shared-postgres.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'browser',
          include: [IN_A_BROWSER],
          maxWorkers: 2,
          globalSetup: ['test/engines/shared-postgres.ts'],
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...onServers,
          name: 'distributed',
          include: [...DEPENDS_ON_SERVERS, ...BESIDE_SERVERS],
          exclude: [MEASURING_TIME_ON_SERVERS],
          // They wait for servers most of the time. Files that kill one start one of their own.
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...onServers,
          name: 'distributed-time',
          include: [MEASURING_TIME_ON_SERVERS],
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          ...onServers,
          name: 'nightly',
          // Everything that the projects above do not run, so that a new file runs on servers unless it is excluded.
          include: ['test/**/*.test.ts'],
          exclude: [
            IN_A_BROWSER,
            ...DEPENDS_ON_SERVERS,
            ...BESIDE_SERVERS,
            MEASURING_TIME,
            MEASURING_TIME_ON_SERVERS,
            ...Object.values(NEVER_ON_SERVERS).flat(),
          ],
          maxWorkers: 2,
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          ...shared,
          name: 'time',
          include: [MEASURING_TIME],
          maxWorkers: 1,
          globalSetup: ['test/engines/shared-postgres.ts'],
          sequence: { groupOrder: 5 },
        },
      },
    ],
  },
});
