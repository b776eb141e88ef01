import { defineConfig } from 'vitest/config';

const shared = {
  // The embedded ClickHouse allows one data folder per process, so every file gets a process of its own.
  pool: 'forks' as const,
  testTimeout: 60_000,
  hookTimeout: 120_000,
  teardownTimeout: 30_000,
};

export default defineConfig({
  test: {
    // Each file starts a Postgres and a ClickHouse; more than two at once starve each other.
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...shared,
          name: 'embedded',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.distributed.test.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'distributed',
          include: ['test/**/*.distributed.test.ts'],
          // The files share one set of servers, and some of them kill a server.
          fileParallelism: false,
          globalSetup: ['test/engines/global-setup.ts'],
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
