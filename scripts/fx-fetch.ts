import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { MAX_IMPORTED_RATES, type FetchReport, type ImportReport } from '../src/ledger/fx/schema.ts';
import { callInternal, findInternalApi, type InternalApi } from './service-api.ts';

const USAGE = `usage: npm run --silent fx-fetch -- [--kind fiat|crypto] [--tenant-id <uuid>] [--since <YYYY-MM-DD>]
       npm run --silent fx-fetch -- --file <path> --tenant-id <uuid>

Has the running service fetch exchange rates from their providers now; with --since the fiat rates of every day from that
date on, which is at most 1,830 days ago. Prints one JSON line; exit 1 means that a provider failed (what others gave is
stored) or that the service could not be asked; standard error says why.

With --file it stores the rates of a CSV file as manual rates of a tenant. A line has base,quote,ts,rate: a code, a code, a
time such as 2024-01-31T00:00:00Z and plain digits; a first line with these names is left out. Standard error has a
verdict for each line: stored, known or refused. The same file again changes nothing. Exit 1 means that a line was refused.

The service is the one that DATA_DIR/dev-credentials.json belongs to, unless flags say otherwise:
  --base-url <url>  --internal-secret <secret>`;

/** Lines of a file: each is a change that fx-restater works off. */
const MAX_LINES = 200_000;
const MAX_LINE_LENGTH = 300;
const COLUMNS = ['base', 'quote', 'ts', 'rate'] as const;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      kind: { type: 'string', multiple: true },
      since: { type: 'string' },
      file: { type: 'string' },
      'tenant-id': { type: 'string' },
      'base-url': { type: 'string' },
      'internal-secret': { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    complain(USAGE);
    return;
  }
  const { file, since, kind, 'tenant-id': tenant_id } = values;
  if (file === undefined) {
    await fetchRates(await findInternalApi(values), { kinds: kind, since, tenant_id });
    return;
  }
  if (tenant_id === undefined) throw new Error('--file needs --tenant-id: rates belong to a tenant');
  if (kind !== undefined || since !== undefined) throw new Error('give --file without --kind and --since');
  await importFile(await findInternalApi(values), file, tenant_id);
}

interface Wanted {
  kinds: string[] | undefined;
  since: string | undefined;
  tenant_id: string | undefined;
}

async function fetchRates(api: InternalApi, body: Wanted): Promise<void> {
  const { data } = await callInternal<{ data: FetchReport }>(api, 'fx-fetch', { method: 'POST', body });
  const { upserted, tenants, failures } = data;
  for (const { message } of failures) complain(message);
  summarise({ upserted, tenants });
  if (failures.length > 0) process.exitCode = 1;
}

interface Line {
  number: number;
  cells: readonly string[];
}

async function importFile(api: InternalApi, file: string, tenant_id: string): Promise<void> {
  const counts = { stored: 0, known: 0, refused: 0 };
  const tell = ({ number }: Line, { status, message }: ImportReport['results'][number]) => {
    counts[status] += 1;
    complain(`line ${number}: ${status}${message === undefined ? '' : `: ${message}`}`);
  };
  let waiting: Line[] = [];
  const send = async () => {
    if (waiting.length === 0) return;
    const rates = waiting.map(({ cells }) =>
      Object.fromEntries(COLUMNS.map((name, at) => [name, cells[at]])),
    );
    const body = { tenant_id, rates };
    const { data } = await callInternal<{ data: ImportReport }>(api, 'fx-rates', { method: 'POST', body });
    for (const [at, line] of waiting.entries()) {
      const result = data.results[at];
      if (result !== undefined) tell(line, result);
    }
    waiting = [];
  };
  for await (const line of linesOf(file)) {
    const problem = problemOf(line);
    if (problem !== undefined) tell(line, { status: 'refused', message: problem });
    else waiting.push(line);
    if (waiting.length >= MAX_IMPORTED_RATES) await send();
  }
  await send();
  const { stored: upserted, known, refused } = counts;
  summarise({ upserted, tenants: 1, known, refused });
  if (refused > 0) process.exitCode = 1;
}

/** The lines of the file that are not empty, without the names of the columns. */
async function* linesOf(file: string): AsyncGenerator<Line> {
  const lines = createInterface({
    input: createReadStream(file, 'utf8'),
    crlfDelay: Number.POSITIVE_INFINITY,
  });
  let number = 0;
  for await (const text of lines) {
    number += 1;
    if (number > MAX_LINES) throw new Error(`the file has over ${MAX_LINES} lines: split it`);
    const cells = text
      .replace(/^\uFEFF/, '')
      .split(',')
      .map((cell) => cell.trim());
    const is_header = number === 1 && cells.join() === COLUMNS.join();
    if (!is_header && text.trim() !== '') yield { number, cells };
  }
}

function problemOf({ cells }: Line): string | undefined {
  if (cells.length !== COLUMNS.length) return `a line has ${COLUMNS.join()}`;
  if (cells.join().length > MAX_LINE_LENGTH) return `a line has at most ${MAX_LINE_LENGTH} characters`;
  return undefined;
}

function summarise(counts: Record<string, number>): void {
  process.stdout.write(`${JSON.stringify({ event: 'fx-fetch-summary', ...counts })}\n`);
}

function complain(text: string): void {
  process.stderr.write(`${text}\n`);
}

main().catch((error: unknown) => {
  complain(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
