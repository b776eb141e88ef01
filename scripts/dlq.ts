import { parseArgs } from 'node:util';
import type { LetterResource, ReplayReport } from '../src/ingest/dead-letters/schema.ts';
import { callInternal, findInternalApi, type InternalApi } from './service-api.ts';

const USAGE = `usage: npm run dlq -- <list|replay> [flags]

  list    [--reason <code>] [--limit <n>] [--json]      dead letters, the oldest first (default: 50; --json: a line each)
  replay  --partition <n> --offset <n> [--offset <n> …]  sends these through the fold again
  replay  --all [--partition <n>] [--reason <code>]      sends all of them
          --force                                        also those replayed before or with an unknown outcome

The service is the one that DATA_DIR/dev-credentials.json belongs to, unless flags say otherwise:
  --base-url <url>  --internal-secret <secret>`;

const PAGE = 200;

/** The command line cannot be used; `message` says how to use it. */
class UsageError extends Error {
  override readonly name = 'UsageError';
}

interface Flags {
  reason?: string | undefined;
  limit?: string | undefined;
  json?: boolean | undefined;
  partition?: string | undefined;
  offset?: string[] | undefined;
  all?: boolean | undefined;
  force?: boolean | undefined;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      reason: { type: 'string' },
      limit: { type: 'string' },
      json: { type: 'boolean' },
      partition: { type: 'string' },
      offset: { type: 'string', multiple: true },
      all: { type: 'boolean' },
      force: { type: 'boolean' },
      'base-url': { type: 'string' },
      'internal-secret': { type: 'string' },
    },
  });
  const [what, ...rest] = positionals;
  if (rest.length > 0 || (what !== 'list' && what !== 'replay')) throw new UsageError(USAGE);
  const api = await findInternalApi(values);
  await (what === 'list' ? list(api, values) : replay(api, values));
}

/** Prints up to `limit` letters, page by page. */
async function list(api: InternalApi, { reason, limit = '50', json }: Flags): Promise<void> {
  let left = wholeNumber('limit', limit);
  let cursor: string | null = '';
  let shown = 0;
  while (left > 0 && cursor !== null) {
    const query = new URLSearchParams({ limit: String(Math.min(left, PAGE)) });
    if (reason !== undefined) query.set('reason', reason);
    if (cursor !== '') query.set('after', cursor);
    const page: { data: LetterResource[]; meta: { next_cursor: string | null } } = await callInternal(
      api,
      `dead-letters?${query.toString()}`,
    );
    for (const letter of page.data) say(json === true ? JSON.stringify(letter) : describeLetter(letter));
    shown += page.data.length;
    left -= page.data.length;
    cursor = page.meta.next_cursor;
  }
  if (json !== true) say(`${shown} dead letters${cursor === null ? '' : ', and there are more'}`);
}

function describeLetter({ partition, offset, reason, message, value, at, replay }: LetterResource): string {
  const state = { none: '', replayed: '  [replayed]', unknown: '  [replay of unknown outcome]' }[replay];
  return `${at}  ${partition}:${offset}  ${reason}${state}\n  ${message}\n  ${value}`;
}

async function replay(api: InternalApi, flags: Flags): Promise<void> {
  const { reason, force, all } = flags;
  const partition = flags.partition === undefined ? undefined : wholeNumber('partition', flags.partition);
  const offsets = flags.offset;
  const named = offsets !== undefined && partition !== undefined;
  if (named === (all === true))
    throw new UsageError(`name letters by --partition and --offset, or --all\n\n${USAGE}`);
  const { data } = await callInternal<{ data: ReplayReport }>(api, 'dead-letters/replay', {
    method: 'POST',
    body: { partition, reason, force, ...(named ? { offsets } : { all: true }) },
  });
  for (const { partition, offset } of data.unknown_outcome)
    say(`${partition}:${offset}  unknown outcome, left alone`);
  for (const { partition, offset } of data.incomplete)
    say(`${partition}:${offset}  the letter has only the beginning of its record, left alone`);
  for (const { partition, offset } of data.not_found) say(`${partition}:${offset}  no such letter`);
  say(
    `${data.replayed} replayed, ${data.replayed_before} replayed before, ${data.unknown_outcomes} of unknown outcome` +
      (data.unknown_outcomes > 0 ? ' (--force sends them; events without ids may then count twice)' : ''),
  );
  if (data.unknown_outcomes + data.incomplete.length + data.not_found.length > 0) process.exitCode = 1;
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} must be a whole number`);
  return Number(text);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
