import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isReady, ServiceProcess } from '../../scripts/service-process.ts';
import { freePort } from '../engines/free-port.ts';

let data_dir: string;
let first: ServiceProcess;

beforeAll(async () => {
  data_dir = await mkdtemp(join(tmpdir(), 'engagement-second-'));
  first = await newProcess();
  await first.start();
});
afterAll(async () => {
  await first.stop();
  await rm(data_dir, { recursive: true, force: true });
});

async function newProcess(): Promise<ServiceProcess> {
  return new ServiceProcess({
    data_dir,
    port: await freePort(),
    ingest_port: await freePort(),
    environment: { LOG_LEVEL: 'warn' },
  });
}

it('a second process on the same folder refuses to start, and the first one goes on working', async () => {
  const second = await newProcess();
  await expect(second.start()).rejects.toThrow('another process uses');
  expect(second.running).toBe(false);
  expect(await isReady(first.base_url)).toBe(true);
});

it('takes over the running Postgres of a killed process', async () => {
  await first.signal('SIGKILL');
  first = await newProcess();
  await first.start();
  expect(await isReady(first.base_url)).toBe(true);
});
