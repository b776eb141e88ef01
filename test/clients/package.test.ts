import { execFile, spawn } from 'node:child_process';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/package-root.ts';
import { EFFORT } from '../engines/effort.ts';
import { until } from '../engines/until.ts';
import { installClient, type InstalledClient } from './installed.ts';
import { startHttpModel, type HttpModel } from './http-model.ts';

// The package of clients/js as it is installed from npm, in a project that has nothing else.

const MAX_BROWSER_GZIP = 5_000;
const run = promisify(execFile);

let installed: InstalledClient;
let model: HttpModel;
beforeAll(async () => {
  [installed, model] = await Promise.all([installClient(), startHttpModel()]);
});
afterAll(async () => {
  await Promise.all([installed?.remove(), model?.close()]);
});

/** Writes a module into the project. */
async function write(name: string, text: string): Promise<string> {
  const path = join(installed.folder, name);
  await writeFile(path, text);
  return path;
}

const SENDS = (url: string, more = '') => `
  import { createClient } from '@player-engagement/client/server';
  import { createClient as adminOf, ApiError } from '@player-engagement/client/admin';
  const client = createClient({ key: 'k', ingest_url: '${url}' ${more} });
  const deposit = (n) => client.track({ event: 'deposit_confirmed', player_id: 'p',
    properties: { amount: 2n ** 60n, currency: 'EUR', transaction_id: 'd' + n, payment_method: 'card' } });
`;

it('has what it exports, its types and its page, and nothing else', async () => {
  const { exports } = JSON.parse(await readFile(installed.file('package.json'), 'utf8')) as {
    exports: Record<string, Record<string, string>>;
  };
  expect(Object.keys(exports)).toEqual(['./browser', './server', './admin', './package.json']);
  for (const entry of ['browser', 'server', 'admin']) {
    await stat(installed.file(`dist/${entry}.js`));
    await stat(installed.file(`dist/${entry}.d.ts`));
  }
  await stat(installed.file('README.md'));
  await expect(stat(installed.file('src'))).rejects.toThrow();
});

it('is at most 5 kB in a browser, without imports', async () => {
  const code = await readFile(installed.file('dist/browser.js'), 'utf8');
  expect(gzipSync(code).length).toBeLessThan(MAX_BROWSER_GZIP);
  expect(code).not.toMatch(/\bimport\b/);
});

it('has types that the strictest project accepts', async () => {
  const consumer = await write(
    'consumer.ts',
    `import { createClient as browser, type Lost } from '@player-engagement/client/browser';
     import { createClient as server, type EventInput } from '@player-engagement/client/server';
     import { createClient as admin, ApiError, each } from '@player-engagement/client/admin';
     const page = browser({ key: 'k', onDrop: ({ code, content }: Lost) => console.log(code, content) });
     await page.consent(true);
     await page.track('page_view', { path: '/' });
     const event: EventInput = { event: 'login', player_id: 'p', timestamp: new Date() };
     await server({ key: 'k', ingest_url: 'http://x' }).track(event);
     const client = admin({ base_url: 'http://x' });
     for await (const player of each((p) => client.players.list(p))) console.log(player.total_deposited + 1n);
     export const refuses_other_options: 'spol' extends keyof Parameters<typeof server>[0] ? never : true = true;
     export { ApiError };`,
  );
  const tsc = join(packageRoot, 'node_modules/typescript/bin/tsc');
  const options = '--noEmit --strict --exactOptionalPropertyTypes --target es2023 --types';
  for (const resolution of ['nodenext', 'bundler']) {
    const module = resolution === 'bundler' ? 'esnext' : resolution;
    const args = [
      ...options.split(' '),
      '',
      '--lib',
      'es2024,dom',
      '--module',
      module,
      '--moduleResolution',
      resolution,
    ];
    const { stdout } = await run(process.execPath, [tsc, ...args, consumer], { cwd: installed.folder }).catch(
      (error: unknown) => error as { stdout: string },
    );
    expect(stdout).toBe('');
  }
});

describe('in Node', () => {
  it('sends what was tracked, and ends by itself', async () => {
    model.received.length = 0;
    const script = await write(
      'send.mjs',
      `${SENDS(model.url)}
       for (let i = 0; i < 60; i++) deposit(i);
       await client.track({ event: 'login', player_id: 'p' });
       console.log(JSON.stringify(await client.close()), client.counts.accepted, typeof adminOf({}).players.get);
       await client.track({ event: 'login', player_id: 'p' }).catch((error) => console.log(error.message));`,
    );
    const { stdout } = await run(process.execPath, [script]);
    expect(stdout.trim().split('\n')).toEqual(['{"unsent":0} 61 function', 'the client is closed']);
    expect(model.received.flatMap(({ events }) => events).length).toBe(61);
    expect(model.received[0]).toMatchObject({ path: '/v1/events/batch', authorization: 'Bearer k' });
    expect(model.received[0]?.events[0]?.properties?.['amount']).toBe(String(2n ** 60n));
  });

  it('does not keep a process that forgets to close it, also while it waits for an answer', async () => {
    const script = await write(
      'forget.mjs',
      `${SENDS('http://127.0.0.1:1')} await deposit(1); client.flush();`,
    );
    await run(process.execPath, [script]);
  });

  it('says at the end how much was not sent', async () => {
    const script = await write(
      'late.mjs',
      `${SENDS('http://127.0.0.1:1')} deposit(1); deposit(2);
       console.log(JSON.stringify(await client.close({ timeout_ms: 50 })));`,
    );
    expect((await run(process.execPath, [script])).stdout.trim()).toBe('{"unsent":2}');
  });

  it('after a SIGKILL sends the events about money again, under the same key', async () => {
    const spool = join(installed.folder, 'events.spool');
    const with_spool = `, spool: ${JSON.stringify(spool)}`;
    const killed = await write(
      'killed.mjs',
      `${SENDS(model.url, with_spool)}
       client.track({ event: 'login', player_id: 'p' });
       for (let i = 0; i < 3; i++) await deposit(i);
       console.log('kept');
       client.flush();
       setInterval(() => undefined, 1000);`,
    );
    model.received.length = 0;
    model.status = undefined;
    const child = spawn(process.execPath, [killed], { stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    child.stdout.on('data', (text) => (printed += String(text)));
    await until('a batch is on its way', () => printed.includes('kept') && model.received.length > 0);
    const [first] = model.received;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    model.status = 202;
    const after = await write(
      'after.mjs',
      `${SENDS(model.url, with_spool)}
       console.log(JSON.stringify(await client.close()), client.counts.accepted);`,
    );
    expect((await run(process.execPath, [after])).stdout.trim()).toBe('{"unsent":0} 4');
    const [, second] = model.received;
    expect(second).toEqual(first);
    // What was sent is gone.
    expect((await run(process.execPath, [after])).stdout.trim()).toBe('{"unsent":0} 0');
  });

  // They are downloaded.
  it.each(EFFORT === 'nightly' ? [20, 22, 24] : [])('works in Node %i', async (version) => {
    model.received.length = 0;
    const script = await write('version.mjs', `${SENDS(model.url)} await deposit(1); await client.close();`);
    await run('npx', ['--yes', `node@${version}`, script], { cwd: installed.folder });
    expect(model.received.flatMap(({ events }) => events).length).toBe(1);
  });
});
