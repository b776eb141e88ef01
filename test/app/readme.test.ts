import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { operationsOf, type Document, type Operation } from '../../scripts/client/document.ts';
import { ServiceProcess } from '../../scripts/service-process.ts';
import { packageRoot } from '../../src/package-root.ts';
import { freePort } from '../engines/free-port.ts';
import { until } from '../engines/until.ts';
import { copyPreparedPostgres } from '../engines/shared-postgres.ts';
import { openTerminal, stepsOf } from '../engines/terminal.ts';

// Runs what a newcomer runs: the shell blocks of README, in order, in one terminal beside a running service.

let service: ServiceProcess;
let work_dir: string;

beforeAll(async () => {
  work_dir = await mkdtemp(join(tmpdir(), 'engagement-readme-'));
  // When root runs the test, Postgres runs as another user, and that user must be able to enter the folder.
  await chmod(work_dir, 0o711);
  const data_dir = join(work_dir, 'data');
  await copyPreparedPostgres(join(data_dir, 'postgres'));
  const [port, ingest_port] = [await freePort(), await freePort()];
  service = new ServiceProcess({ data_dir, port, ingest_port });
  await service.start();
});
afterAll(async () => {
  await service?.stop();
  await rm(work_dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
});

it('the commands of README do what README says', async () => {
  const steps = stepsOf(await readFile(join(packageRoot, 'README.md'), 'utf8'));
  // Not run here: test/app/npm-start.test.ts runs the first command, and this test is part of the second.
  expect(steps.slice(0, 2).map(({ command }) => command)).toEqual([
    'npm ci && npm start\n',
    'npm ci && npm test\n',
  ]);
  const examples = steps.slice(2);
  expect(examples.filter(({ shown }) => shown !== undefined).length).toBeGreaterThanOrEqual(5);
  const type = await openTerminal(work_dir, service);
  for (const { command, shown } of examples) {
    expect(command).toMatch(/127\.0\.0\.1:808[01]/);
    if (shown === undefined || / -d | -X POST /.test(command)) {
      expect(await type(command)).toBe(shown ?? '');
    } else {
      // Sent events become visible after a short time; a person needs longer than that to read on.
      await until(
        `${command} prints ${shown}`,
        async (saw) => saw(await type(command).catch(() => '')) === shown,
      );
    }
  }
});

it('the commands of docs/api.md do what it says', async () => {
  const steps = stepsOf(await readFile(join(packageRoot, 'docs/api.md'), 'utf8'));
  expect(steps).not.toEqual([]);
  const type = await openTerminal(work_dir, service);
  for (const { command, shown } of steps) expect(await type(command)).toBe(shown ?? '');
});

/** Headings of docs/endpoints.md, by the access that the OpenAPI document gives an endpoint. */
const CALLERS: readonly [says: RegExp, heading: string][] = [
  [/^API key/, 'With an API key'],
  [/^Admin session/, 'With an admin session'],
  [/^Internal/, 'With the internal secret'],
  [/^Signed/, 'Signed by a provider or a platform'],
  [/^No credential/, 'Open to anyone'],
];

/** Returns one line per endpoint of the OpenAPI document, below the heading of its access. */
function endpointList(operations: readonly Operation[]): string {
  const lines = new Map(CALLERS.map(([, heading]) => [heading, [] as string[]]));
  for (const { method, path, summary, description } of operations) {
    const heading = CALLERS.find(([says]) => says.test(description))?.[1] ?? '';
    const role = /role (\w+)/.exec(description)?.[1];
    const name = `\`${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}\``;
    lines.get(heading)?.push(`- ${name}${role === undefined ? '' : ` (${role})`}: ${summary}.`);
  }
  return [...lines].map(([heading, list]) => `\n## ${heading}\n\n${list.join('\n')}\n`).join('');
}

it('docs/endpoints.md lists every endpoint as the OpenAPI document describes it', async () => {
  const file = join(packageRoot, 'docs', 'endpoints.md');
  const [page, response] = await Promise.all([
    readFile(file, 'utf8'),
    fetch(`${service.base_url}/openapi.json`),
  ]);
  const listing = endpointList(operationsOf((await response.json()) as Document));
  const [all = '', listed = ''] =
    /<!-- endpoints:begin -->\n([\s\S]*?)\n<!-- endpoints:end -->/.exec(page) ?? [];
  if (process.env['UPDATE_GOLDEN'] === '1') {
    const list = `<!-- endpoints:begin -->\n${listing}\n<!-- endpoints:end -->`;
    await writeFile(
      file,
      page.replace(all, () => list),
    );
  } else {
    expect(listed).toBe(listing);
  }
});
