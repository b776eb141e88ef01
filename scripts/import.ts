import { parseArgs } from 'node:util';
import { readCommandConfig } from '../src/config.ts';
import { findEventProblem } from '../src/ingest/events/validate.ts';
import { exactJson } from '../src/platform/exact-json.ts';
import type { ImportState } from './import/journal.ts';
import { findLetters } from './import/letters.ts';
import { readMappingFile } from './import/mapping-schema.ts';
import { ImportError } from './import/refusal.ts';
import { openSource, runImport, type Source } from './import/run.ts';
import { ProgressBar } from './progress-bar.ts';
import { count, say } from './say.ts';
import { findService } from './service-api.ts';

const USAGE = `usage: npm run import -- <file> --mapping <mapping.json> [flags]

Imports history from a CSV or NDJSON file, each line as the events that the mapping says (docs/import.md). A run that was
stopped or killed goes on where it was when the same command is given again, and no event counts twice.

  --check <n>           shows the events of the first n lines, and sends nothing
  --per-second <n|max>  events per second at most (default 1000, which leaves room for live events; max: no limit)
  --in-flight <n>       batches of 100 that wait for an answer at the same time (default 4; with max 16)
  --attempts <n>        how often a batch is sent before the import stops (default 20)
  --source <name>       begins the ids that are made of line numbers (default: of the content of the file)
  --state <file>        the state of the import (default: <file>.import.json)
  --verdicts <file>     what became of each line (default: <file>.verdicts.ndjson)

The API key is that of --api-key, else of IMPORT_API_KEY, else of DATA_DIR/dev-credentials.json. With the session of an admin
(--session-token, IMPORT_SESSION_TOKEN, or that file) dead letters are named at the end. The service is the one that this
file belongs to, unless flags say otherwise:
  --ingest-url <url>  --base-url <url>  --tenant-id <uuid>  --project-id <uuid>

Exit code: 0 when every line was accepted or skipped, 1 when some were refused or became dead letters, or when the import
stopped; 2 when the command line or the mapping cannot be used.`;

const DEFAULT_PER_SECOND = 1_000;
/** With a limit few, so that no burst follows a stall; without one many, which the event log appends together. */
const DEFAULT_IN_FLIGHT = { limited: 4, max: 16 };
const DEFAULT_ATTEMPTS = 20;
const MAX_SHOWN_LETTERS = 50;

const FLAGS = [
  'mapping',
  'check',
  'per-second',
  'in-flight',
  'attempts',
  'source',
  'state',
  'verdicts',
  'api-key',
  'session-token',
  'ingest-url',
  'base-url',
  'tenant-id',
  'project-id',
] as const;
type Flags = Partial<Record<(typeof FLAGS)[number], string>>;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      ...Object.fromEntries(FLAGS.map((name) => [name, { type: 'string' as const }])),
      help: { type: 'boolean' },
    },
  });
  const flags = values as Flags & { help?: boolean };
  const [file, ...rest] = positionals;
  if (flags.help === true) {
    say(USAGE);
    return 0;
  }
  if (file === undefined || rest.length > 0 || flags.mapping === undefined) throw new ImportError(USAGE);
  if (flags.source?.length === 0 || (flags.source?.length ?? 0) > 100)
    throw new ImportError('--source has 1 to 100 characters');
  const mapping_json = await readMappingFile(flags.mapping);
  const source = await openSource(file, mapping_json, flags.source);
  if (flags.check !== undefined) return check(source, wholeNumber('check', flags.check));
  return importFile(source, mapping_json, flags);
}

/** Shows what the first lines become, with the problems that the service would find, but for currencies. */
async function check(source: Source, lines: number): Promise<number> {
  const context = { now_ms: Date.now(), hasCurrency: () => true };
  let left = lines;
  let problems = 0;
  for await (const part of source.records(source.first)) {
    for (const record of part.slice(0, left)) {
      const { events, refusal } = source.map(record);
      if (refusal !== undefined) say(`line ${record.line}: refused, ${refusal.code}: ${refusal.reason}`);
      else if (events.length === 0) say(`line ${record.line}: skipped`);
      problems += refusal === undefined ? 0 : 1;
      for (const event of events ?? []) {
        say(`line ${record.line}: ${exactJson(event)}`);
        const problem = findEventProblem(event, context);
        if (problem === undefined) continue;
        problems += 1;
        say(`  would be refused, ${problem.code}: ${problem.message}`);
      }
    }
    left -= part.length;
    if (left <= 0) break;
  }
  return problems === 0 ? 0 : 1;
}

async function importFile(source: Source, mapping_json: string, flags: Flags): Promise<number> {
  const target = await findTarget(flags);
  const verdicts_file = flags.verdicts ?? `${source.file}.verdicts.ndjson`;
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stop.abort(new ImportError(`stopped by ${signal}`)));
  const is_max = flags['per-second'] === 'max';
  const progress = new Progress(source.identity.size);
  const state = await runImport(source, {
    client: { ingest_url: target.ingest_url, token: target.api_key },
    mapping_json,
    state_file: flags.state ?? `${source.file}.import.json`,
    verdicts_file,
    per_second: is_max ? Infinity : wholeNumber('per-second', flags['per-second'], DEFAULT_PER_SECOND),
    in_flight: wholeNumber('in-flight', flags['in-flight'], DEFAULT_IN_FLIGHT[is_max ? 'max' : 'limited']),
    attempts: wholeNumber('attempts', flags.attempts, DEFAULT_ATTEMPTS),
    stop: stop.signal,
    onProgress: (now) => progress.show(now),
    onRetry: ({ attempt, attempts, pause_ms, message }) =>
      complain(
        `attempt ${attempt} of ${attempts} failed, again in ${(pause_ms / 1000).toFixed(1)} s: ${message}`,
      ),
  });
  showCounts(state, verdicts_file);
  const letters = await nameLetters(target, flags, state, verdicts_file);
  return state.counts.refused + letters === 0 ? 0 : 1;
}

/** Draws the bar by the bytes of the file, and counts lines. */
class Progress {
  readonly #bar: ProgressBar;
  #begun: ImportState['counts'] | undefined;
  #counts: ImportState['counts'] | undefined;
  #offset = 0;

  constructor(size: number) {
    this.#bar = new ProgressBar('importing', size, (seconds) => this.#text(seconds));
  }

  show({ counts, position }: Readonly<ImportState>): void {
    this.#begun ??= counts;
    this.#counts = counts;
    this.#bar.advance(position.offset - this.#offset);
    this.#offset = position.offset;
  }

  #text(seconds: number): string {
    const { lines = 0, refused = 0, skipped = 0 } = this.#counts ?? {};
    const rate = Math.round((lines - (this.#begun?.lines ?? 0)) / Math.max(seconds, 0.001));
    return `${count(lines)} lines, ${count(rate)}/s, ${count(refused)} refused, ${count(skipped)} skipped`;
  }
}

interface Target {
  ingest_url: string;
  base_url: string;
  api_key: string;
  session_token: string | undefined;
}

async function findTarget(flags: Flags): Promise<Target> {
  const { kept, base_url } = await findService(flags);
  const { IMPORT_API_KEY, IMPORT_SESSION_TOKEN } = process.env;
  const api_key = flags['api-key'] ?? IMPORT_API_KEY ?? kept?.api_key;
  if (api_key === undefined) throw new ImportError('give --api-key, or set IMPORT_API_KEY');
  // The session of the development file is of the project of its key.
  const own_session = api_key === kept?.api_key ? kept.session_token : undefined;
  const { ingest_port } = readCommandConfig();
  const by_base = `${new URL(base_url).protocol}//${new URL(base_url).hostname}:${ingest_port}`;
  return {
    ingest_url: (flags['ingest-url'] ?? kept?.ingest_url ?? by_base).replace(/\/$/, ''),
    base_url,
    api_key,
    session_token: flags['session-token'] ?? IMPORT_SESSION_TOKEN ?? own_session,
  };
}

function showCounts({ counts }: Readonly<ImportState>, verdicts_file: string): void {
  const { lines, accepted, refused, skipped, events } = counts;
  say(
    `${count(lines)} lines: ${count(accepted)} accepted (${count(events)} events), ${count(refused)} refused, ${count(skipped)} skipped`,
  );
  say(`what became of each line: ${verdicts_file}`);
}

/** Names the events that were accepted and could not be applied; returns how many. */
async function nameLetters(
  { base_url, session_token }: Target,
  flags: Flags,
  state: Readonly<ImportState>,
  verdicts_file: string,
): Promise<number> {
  if (session_token === undefined) {
    say('dead letters were not looked for: give --session-token, or use GET /v1/dead-letters');
    return 0;
  }
  const project = {
    ...(flags['tenant-id'] === undefined ? {} : { tenant_id: flags['tenant-id'] }),
    ...(flags['project-id'] === undefined ? {} : { project_id: flags['project-id'] }),
  };
  const { letters, is_late } = await findLetters(
    { base_url, token: session_token, project },
    state,
    verdicts_file,
  );
  for (const { reason, message, event, ids, lines } of letters.slice(0, MAX_SHOWN_LETTERS))
    say(`dead letter of lines ${lines[0]} to ${lines[1]}: ${reason}, ${event}, ${ids}: ${message}`);
  if (letters.length > MAX_SHOWN_LETTERS) say(`… and ${letters.length - MAX_SHOWN_LETTERS} more`);
  say(
    `${count(letters.length)} dead letters${is_late ? ' so far: the service has not applied all events yet' : ''}`,
  );
  return letters.length;
}

function wholeNumber(name: string, text: string | undefined, otherwise = 0): number {
  if (text === undefined) return otherwise;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new ImportError(`--${name} must be a whole number above 0`);
  return Number(text);
}

function complain(text: string): void {
  process.stderr.write(`${process.stdout.isTTY ? '\n' : ''}${text}\n`);
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    complain(error instanceof Error ? error.message : String(error));
    process.exitCode = error instanceof ImportError && !error.message.startsWith('stopped') ? 2 : 1;
  },
);
