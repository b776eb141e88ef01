import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ServiceProcess } from '../../scripts/service-process.ts';
import { packageRoot } from '../../src/package-root.ts';
import { freePort } from '../engines/free-port.ts';
import { until } from '../engines/until.ts';
import { copyPreparedPostgres } from '../engines/shared-postgres.ts';

// Runs what a newcomer runs: the shell blocks of README, in order, in one terminal beside a running service.

interface Step {
  /** A block marked `sh`. */
  command: string;
  /** The block marked `text` after it: the expected output. Absent when there is none. */
  shown: string | undefined;
}

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

function stepsOf(page: string): Step[] {
  const blocks = page.matchAll(/```sh\n([\s\S]*?)```(?:\n\n```text\n([\s\S]*?)```)?/g);
  return [...blocks].map(([, command = '', shown]) => ({ command, shown }));
}

/** Replaces the default ports and folder of a command by those of the service of this test. */
function here(command: string): string {
  return command
    .replaceAll('http://127.0.0.1:8080/', `${service.base_url}/`)
    .replaceAll('http://127.0.0.1:8081/', `${service.ingest_url}/`);
}

/** Runs a command with the shell variables that earlier commands set, as in one terminal. Returns its output. */
async function type(command: string): Promise<string> {
  const state = join(work_dir, 'state.sh');
  const script = `set -a\n. ${state}\n${command}\nexport -p > ${state}\n`;
  const shell = spawn('sh', ['-e', '-c', script], { cwd: work_dir, stdio: ['ignore', 'pipe', 'pipe'] });
  const [printed, complaints, [code]] = await Promise.all([
    text(shell.stdout),
    text(shell.stderr),
    once(shell, 'exit'),
  ]);
  if (code !== 0 || complaints !== '') throw new Error(`exit ${String(code)}:\n${command}\n${complaints}`);
  return printed;
}

it('the commands of README do what README says', async () => {
  const steps = stepsOf(await readFile(join(packageRoot, 'README.md'), 'utf8'));
  // Not run here: test/app/npm-start.test.ts runs the first command, and this test is part of the second.
  expect(steps.slice(0, 2).map(({ command }) => command)).toEqual([
    'npm ci && npm start\n',
    'npm ci && npm test\n',
  ]);
  const examples = steps.slice(2);
  expect(examples.filter(({ shown }) => shown !== undefined).length).toBeGreaterThanOrEqual(5);
  await writeFile(join(work_dir, 'state.sh'), '');
  for (const { command, shown } of examples) {
    expect(command).toMatch(/127\.0\.0\.1:808[01]/);
    if (shown === undefined || / -d | -X POST /.test(command)) {
      expect(await type(here(command))).toBe(shown ?? '');
    } else {
      // Sent events become visible after a short time; a person needs longer than that to read on.
      await until(
        `${command} prints ${shown}`,
        async (saw) => saw(await type(here(command)).catch(() => '')) === shown,
      );
    }
  }
});

interface Operation {
  summary: string;
  description: string;
}

/** Headings of docs/endpoints.md, by the access that the OpenAPI document gives an endpoint. */
const CALLERS: readonly [says: RegExp, heading: string][] = [
  [/^API key/, 'With an API key'],
  [/^Admin session/, 'With an admin session'],
  [/^Internal/, 'With the internal secret'],
  [/^Signed/, 'Signed by a provider or a platform'],
  [/^No credential/, 'Open to anyone'],
];

/** Returns one line per endpoint of the OpenAPI document, below the heading of its access. */
function endpointList(paths: Record<string, Record<string, Operation>>): string {
  const lines = new Map(CALLERS.map(([, heading]) => [heading, [] as string[]]));
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { summary, description }] of Object.entries(methods)) {
      const heading = CALLERS.find(([says]) => says.test(description))?.[1] ?? '';
      const role = /role (\w+)/.exec(description)?.[1];
      const name = `\`${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}\``;
      lines.get(heading)?.push(`- ${name}${role === undefined ? '' : ` (${role})`}: ${summary}.`);
    }
  }
  return [...lines].map(([heading, list]) => `\n## ${heading}\n\n${list.join('\n')}\n`).join('');
}

it('docs/endpoints.md lists every endpoint as the OpenAPI document describes it', async () => {
  const file = join(packageRoot, 'docs', 'endpoints.md');
  const [page, response] = await Promise.all([
    readFile(file, 'utf8'),
    fetch(`${service.base_url}/openapi.json`),
  ]);
  const { paths } = (await response.json()) as { paths: Record<string, Record<string, Operation>> };
  const [all = '', listed = ''] =
    /<!-- endpoints:begin -->\n([\s\S]*?)\n<!-- endpoints:end -->/.exec(page) ?? [];
  if (process.env['UPDATE_GOLDEN'] === '1') {
    const list = `<!-- endpoints:begin -->\n${endpointList(paths)}\n<!-- endpoints:end -->`;
    await writeFile(
      file,
      page.replace(all, () => list),
    );
  } else {
    expect(listed).toBe(endpointList(paths));
  }
});
