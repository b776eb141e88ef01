import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/engines/longest-first.ts';
import { NO_PROVIDERS } from './test/engines/no-providers.ts';

const shared = {
  // The embedded ClickHouse allows one data folder per process at a time, so files run one after the other in each.
  pool: 'forks' as const,
  // A worker imports the code once. Each file closes what it opened, and has databases and topics of its own.
  isolate: false,
  testTimeout: 120_000,
  hookTimeout: 120_000,
  teardownTimeout: 30_000,
  // Also for the services that tests start as processes.
  env: NO_PROVIDERS,
};

/** The properties themselves are searched by the embedded suite; on servers they only meet other engines. */
const { FUZZ_RUNS = '60', ORACLE_RUNS = '2' } = process.env;

const onServers = {
  ...shared,
  env: { ...shared.env, TEST_WIRING: 'distributed', FUZZ_RUNS, ORACLE_RUNS },
  globalSetup: ['test/engines/global-setup.ts'],
  hookTimeout: 180_000,
};

/** Their figures are rates and bounds in time, which no file beside them may spoil. */
const MEASURING_TIME = [
  'test/contract/{kafka-log,rate-limit}.distributed.test.ts',
  'test/crash/engines-kill.distributed.test.ts',
];

/** What can come out differently on servers, by the engine that it depends on; each change runs these. */
const DEPENDS_ON_SERVERS = [
  // Written for servers.
  'test/**/*.distributed.test.ts',
  // Kafka: events go in, and what follows from them is compared; offsets, lag, dead letters, a log that does not answer.
  'test/oracle/**/*.test.ts',
  'test/ingest/{intake,dead-letters}.test.ts',
  'test/players/identity/{identify,merge,merge-history,merge-profile}.test.ts',
  'test/tenants/{tenancy-matrix,tenant-capability}.test.ts',
  'test/http/health.test.ts',
  // ClickHouse over HTTP: parameters in URLs and forms, several queries at a time, its errors.
  'test/engage/campaigns/campaign-stats.test.ts',
  'test/ledger/reconcile/reconcile.test.ts',
  'test/players/history/player-history.test.ts',
  'test/segments/{segment-members,segment-rules,segment-tenancy,segments}.test.ts',
  // Redis: limits that several processes share.
  'test/http/rate-limits.test.ts',
  // Transactions of several processes on one Postgres.
  'test/ledger/fold/fold-batch.test.ts',
];

/** The rest of the HTTP interface: it rests on Postgres alone, which is the same on servers. */
const ON_POSTGRES_ALONE = [
  'test/http/**/*.test.ts',
  'test/auth/{sessions,signing-keys,token-attacks}.test.ts',
  'test/engage/campaigns/campaigns.test.ts',
  'test/engage/messaging/{messaging-callbacks,template-test-addressees,twilio-callbacks,unsubscribe}.test.ts',
  'test/engage/providers/messaging-providers.test.ts',
  'test/engage/templates/templates.test.ts',
  'test/ledger/fx/currencies.test.ts',
  'test/players/identity/{merge-messages,merge-money}.test.ts',
  'test/players/profile/players.test.ts',
  'test/tenants/{api-keys,tenant-config,tenants}.test.ts',
];

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'embedded',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.distributed.test.ts'],
          // One more than there are processors on the smallest machine: a file that waits leaves its processor to another.
          maxWorkers: 3,
          globalSetup: ['test/engines/shared-postgres.ts'],
        },
      },
      {
        test: {
          ...onServers,
          name: 'distributed',
          include: DEPENDS_ON_SERVERS,
          exclude: MEASURING_TIME,
          // They wait for servers most of the time. Files that kill one start one of their own.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...onServers,
          name: 'distributed-time',
          include: MEASURING_TIME,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...onServers,
          name: 'nightly',
          include: ON_POSTGRES_ALONE,
          exclude: DEPENDS_ON_SERVERS,
          maxWorkers: 2,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
