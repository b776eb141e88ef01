import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/engines/longest-first.ts';
import { NO_PROVIDERS } from './test/engines/no-providers.ts';

const shared = {
  // The embedded ClickHouse allows one data folder per process, so every file gets a process of its own.
  pool: 'forks' as const,
  testTimeout: 120_000,
  hookTimeout: 120_000,
  teardownTimeout: 30_000,
  // Also for the services that tests start as processes.
  env: NO_PROVIDERS,
};

/** The properties themselves are searched by the embedded suite; here they meet the servers. */
const { FUZZ_RUNS = '60', ORACLE_RUNS = '2' } = process.env;
const FEWER_RUNS = { FUZZ_RUNS, ORACLE_RUNS };

export default defineConfig({
  test: {
    // Each file starts a Postgres and a ClickHouse; more than two at once starve each other.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'embedded',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.distributed.test.ts'],
          // The code is imported once per worker. Each file closes what it opened: chdb has one data folder per process.
          isolate: false,
          globalSetup: ['test/engines/shared-postgres.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'distributed',
          include: [
            'test/**/*.distributed.test.ts',
            'test/http/**/*.test.ts',
            'test/auth/{sessions,signing-keys,token-attacks}.test.ts',
            'test/engage/campaigns/{campaign-stats,campaigns}.test.ts',
            'test/engage/messaging/{messaging-callbacks,template-test-addressees,twilio-callbacks,unsubscribe}.test.ts',
            'test/engage/providers/messaging-providers.test.ts',
            'test/engage/templates/templates.test.ts',
            'test/ingest/{dead-letters,intake}.test.ts',
            'test/ledger/fx/currencies.test.ts',
            'test/ledger/reconcile/reconcile.test.ts',
            'test/players/history/player-history.test.ts',
            'test/players/identity/{identify,merge,merge-history,merge-messages,merge-money,merge-profile}.test.ts',
            'test/players/profile/players.test.ts',
            'test/segments/{segment-members,segment-rules,segment-tenancy,segments}.test.ts',
            'test/tenants/{api-keys,tenancy-matrix,tenant-capability,tenant-config,tenants}.test.ts',
            'test/oracle/**/*.test.ts',
            // Of this folder the other file computes and needs no engine.
            'test/ledger/fold/fold-batch.test.ts',
          ],
          env: { ...shared.env, TEST_WIRING: 'distributed', ...FEWER_RUNS },
          // The files share one set of servers, and some of them kill a server.
          fileParallelism: false,
          // No engine lives in the process, so one is enough: importing the code for each file took a sixth of the time.
          isolate: false,
          globalSetup: ['test/engines/global-setup.ts'],
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
