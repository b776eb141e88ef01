import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from './free-port.ts';
import { dockerAnswers, startContainer } from './docker.ts';
import { ServerProcess, type Engine } from './server-process.ts';

const FRONT = resolve('dist/test/engines/clickhouse-front.js');

export interface ClickHouseEngine extends Engine {
  /** `http://host:port`, without a database. */
  url: string;
}

/** Starts a ClickHouse: a container where Docker answers, otherwise an HTTP front over the embedded engine. */
export async function startClickHouse(): Promise<ClickHouseEngine> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const ready = () => clickHouseAnswers(url);
  if (await dockerAnswers()) {
    const engine = await startContainer({
      image: 'clickhouse/clickhouse-server:26',
      port: 8123,
      host_port: port,
      environment: { CLICKHOUSE_SKIP_USER_SETUP: '1' },
      ready,
    });
    return { url, ...engine };
  }
  if (!existsSync(FRONT)) throw new Error(`${FRONT} is missing: run npm run build first`);
  const dir = await mkdtemp(join(tmpdir(), 'test-clickhouse-'));
  const server = new ServerProcess({
    name: 'ClickHouse front',
    command: process.execPath,
    args: [FRONT, join(dir, 'data'), String(port)],
    log_file: join(dir, 'server.log'),
    ready,
  });
  await server.start();
  return {
    url,
    kill: () => server.signal('SIGKILL'),
    restart: () => server.start(),
    async stop() {
      await server.signal('SIGKILL');
      await rm(dir, { recursive: true, force: true });
    },
  };
}

export async function clickHouseAnswers(url: string): Promise<void> {
  const response = await fetch(`${url}/?query=SELECT%201`, { signal: AbortSignal.timeout(5_000) });
  if (!response.ok) throw new Error(`ClickHouse answers ${response.status}: ${await response.text()}`);
}
