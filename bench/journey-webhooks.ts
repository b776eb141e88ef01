import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startWebhookDeliverer } from '../processors/webhook-deliverer/index.ts';
import { readConfig } from '../src/config.ts';
import { loadCredentialsKeys } from '../src/engage/providers/credentials.ts';
import { newId } from '../src/platform/ids.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { TestService } from '../test/engines/service.ts';
import { startBenchServer } from './child.ts';
import { callApi, end, startJourney } from './journey-client.ts';
import { countPending, deleteCalls, insertCalls, insertRuns } from './journey-seed-queries.ts';
import { alternate, perSecond, ratios, result, timed, type Result, type Sample } from './measure.ts';
import { postgresUrlOf } from './platform.ts';
import { insertPlayers } from './seed-queries.ts';

const CALLS = 5_000;
const DEAD_CALLS = 500;
const ROUNDS = 3;
const POLL_MS = 20;

/** Webhooks to one fast host, alone and beside a host that accepts connections and never answers. */
export async function benchWebhooks(service: TestService): Promise<Result[]> {
  const { platform, tenant_id, project_id } = service;
  const owner = connectPool(postgresUrlOf(platform), { max: 1 });
  const fast = await startBenchServer('bare-http');
  const dead = await silentHost();
  const fast_url = `http://127.0.0.1:${fast.port}/hook`;
  const keys = await loadCredentialsKeys(readConfig({ DATA_DIR: service.data_dir }));
  try {
    await callApi(service, 'POST', '/v1/webhook-secrets');
    const nodes = [{ id: 'a', type: 'call_webhook', url: fast_url, next: 'end' }, end];
    const journey_id = await startJourney(service, nodes);
    await insertPlayers(owner, { tenant_id, project_id }, CALLS);
    const standing = { tenant_id, project_id, journey_id, node_id: 'a', seq: 1 };
    const call = async (url: string, count: number, timeout_ms: number) => {
      const run_ids = await insertRuns(owner, standing, Array.from({ length: count }, newId));
      await insertCalls(owner, standing, run_ids, { url, timeout_ms });
    };
    const deliver = async (dead_calls: number): Promise<Sample> => {
      await deleteCalls(owner, journey_id);
      if (dead_calls > 0) await call(dead.url, dead_calls, 10_000);
      await call(fast_url, CALLS, 10_000);
      let deliverer: { close(): Promise<void> } | undefined;
      const sample = await timed(async () => {
        deliverer = await startWebhookDeliverer(platform, service.service.notifications, keys);
        while ((await countPending(owner, fast_url)) > 0) await sleep(POLL_MS);
        return CALLS;
      });
      dead.hangUp();
      await deliverer?.close();
      return sample;
    };
    const pairs = await alternate(
      ROUNDS,
      () => deliver(DEAD_CALLS),
      () => deliver(0),
    );
    const rates = pairs.map(({ b }) => perSecond(b));
    return [
      result('webhooks to one fast host, per second', rates, { at_least: 1_000 }, `${CALLS} calls`),
      result('webhooks beside a dead host ÷ alone', ratios(pairs, perSecond), { at_least: 0.95 }, ''),
    ];
  } finally {
    dead.hangUp();
    await dead.close();
    await fast.stop();
    await owner.end({ timeout: 5 });
  }
}

/** A host that reads and never answers. */
async function silentHost(): Promise<{ url: string; hangUp(): void; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    hangUp() {
      for (const socket of sockets) socket.destroy();
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
