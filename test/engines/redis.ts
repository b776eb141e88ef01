import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { dockerAnswers, startContainer } from './docker.ts';
import { ServerProcess, type Engine } from './server-process.ts';

export interface RedisEngine extends Engine {
  url: string;
}

/** Starts a Redis: a container where Docker answers, otherwise the system's redis-server. */
export async function startRedis(): Promise<RedisEngine> {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const ready = () => redisAnswers(url);
  if (await dockerAnswers()) {
    return { url, ...(await startContainer({ image: 'redis:8', port: 6379, host_port: port, ready })) };
  }
  if (spawnSync('redis-server', ['--version']).status !== 0) {
    throw new Error('no Redis: give TEST_REDIS_URL, start Docker, or run scripts/install-test-engines.sh');
  }
  const dir = await mkdtemp(join(tmpdir(), 'test-redis-'));
  const server = new ServerProcess({
    name: 'Redis',
    command: 'redis-server',
    args: ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', ''],
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

export async function redisAnswers(url: string): Promise<void> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}
