import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Session } from 'chdb';

/**
 * ClickHouse's HTTP interface over the embedded engine, as far as the official client uses it, for machines
 * without a ClickHouse server. Run as `node clickhouse-front.js <folder> <port>`.
 */
const [folder = '', port = ''] = process.argv.slice(2);
const session = new Session(folder);

/** Parameters of the HTTP interface that are not settings of the engine. */
const NOT_SETTINGS = new Set([
  'query',
  'database',
  'default_format',
  'query_id',
  'session_id',
  'session_timeout',
  'role',
  'user',
  'password',
  'wait_end_of_query',
  'send_progress_in_http_headers',
  'enable_http_compression',
  'http_headers_progress_interval_ms',
  'cancel_http_readonly_queries_on_client_close',
]);

/** The engine has a single session, so requests run one after the other and reset their settings. */
let last: Promise<unknown> = Promise.resolve();

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = last.then(work);
  last = turn.catch(() => undefined);
  return turn;
}

/** The largest form part that a server accepts by default (`http_max_field_value_size`). */
const MAX_PART_BYTES = 128 * 1024;

/** The parts of a multipart/form-data body with their names; undefined for another content type. */
function partsOf(content_type: string, body: string): [string, string][] | undefined {
  const boundary = /^multipart\/form-data; boundary=(\S+)$/.exec(content_type)?.[1];
  if (boundary === undefined) return undefined;
  const parts = `\r\n${body}`.split(`\r\n--${boundary}`);
  if (parts.at(0) !== '' || parts.at(-1) !== '--\r\n') throw new Error('not a multipart body');
  return parts.slice(1, -1).map((part) => {
    const [all = '', name = ''] =
      /^\r\nContent-Disposition: form-data; name="([\w.-]+)"\r\n\r\n/.exec(part) ?? [];
    const value = part.slice(all.length);
    if (all === '') throw new Error('a part without a name');
    if (Buffer.byteLength(value) > MAX_PART_BYTES)
      throw new Error('HTML Form Exception: Field value too long');
    return [name, value];
  });
}

async function run(url: URL, content_type: string, sent: string): Promise<Uint8Array> {
  const parts = partsOf(content_type, sent);
  for (const [name, value] of parts ?? []) url.searchParams.set(name, value);
  const body = parts === undefined ? sent : '';
  const before = [`USE ${identifier(url.searchParams.get('database') ?? 'default')}`];
  const after: string[] = [];
  for (const [name, value] of url.searchParams) {
    if (NOT_SETTINGS.has(name)) continue;
    before.push(`SET ${identifier(name)} = ${literal(value)}`);
    if (!name.startsWith('param_')) after.push(`SET ${identifier(name)} = DEFAULT`);
  }
  const query = [url.searchParams.get('query') ?? '', body].filter((part) => part !== '').join('\n');
  // An INSERT without rows is valid over HTTP, but an error for the engine's parser.
  if (body.trim() === '' && /\bFORMAT\s+\w+\s*$/i.test(query) && /^\s*INSERT\b/i.test(query)) {
    return new Uint8Array();
  }
  const format = url.searchParams.get('default_format') ?? 'TabSeparated';
  try {
    const result = await session.queryAsync(`${before.join('; ')}; ${query}`, { format });
    return result.bytes();
  } finally {
    if (after.length > 0) await session.queryAsync(after.join('; '));
  }
}

function identifier(name: string): string {
  if (!/^\w+$/.test(name)) throw new Error(`not a name: ${name}`);
  return name;
}

function literal(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  if (url.pathname === '/ping') {
    response.end('Ok.\n');
    return;
  }
  const body = await text(request);
  const query_id = url.searchParams.get('query_id') ?? '';
  const progress = new ProgressHeaders(url, response);
  try {
    const result = await once(query_id, () =>
      inTurn(() => run(url, request.headers['content-type'] ?? '', body)),
    );
    progress.end(200, { 'X-ClickHouse-Query-Id': query_id, 'X-ClickHouse-Summary': '{}' }, result);
  } catch (error) {
    const { message, clickhouseCode = 1002 } = error as Error & { clickhouseCode?: number };
    const line = message.startsWith('Code:') ? message : `Code: ${clickhouseCode}. DB::Exception: ${message}`;
    progress.end(500, { 'X-ClickHouse-Exception-Code': String(clickhouseCode) }, Buffer.from(`${line}\n`));
  }
}

/** Ids of the queries that run or wait for their turn. */
const running = new Set<string>();

/** Refuses a query with the id of one that has not ended, even if the caller of that one is gone. */
async function once<T>(query_id: string, work: () => Promise<T>): Promise<T> {
  if (query_id !== '' && running.has(query_id)) {
    const message = `Query with id = ${query_id} is already running. (QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING)`;
    throw Object.assign(new Error(message), { clickhouseCode: 216 });
  }
  running.add(query_id);
  try {
    return await work();
  } finally {
    running.delete(query_id);
  }
}

/**
 * An answer whose status and first headers are sent while the query runs, if the client asked for progress headers.
 * Like a real server it has sent 200 by then, so a later error is reported in a header only.
 */
class ProgressHeaders {
  #response: ServerResponse;
  #timer: NodeJS.Timeout | undefined;
  #has_begun = false;

  constructor(url: URL, response: ServerResponse) {
    this.#response = response;
    if (url.searchParams.get('send_progress_in_http_headers') !== '1') return;
    const interval_ms = Number(url.searchParams.get('http_headers_progress_interval_ms') ?? 100);
    this.#timer = setInterval(() => this.#tell(), interval_ms);
  }

  end(status: number, headers: Record<string, string>, body: Uint8Array): void {
    clearInterval(this.#timer);
    if (!this.#has_begun) {
      this.#response.writeHead(status, headers);
      this.#response.end(body);
      return;
    }
    const all = { ...headers, 'Content-Length': String(body.length), Connection: 'close' };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#response.socket?.write(`${lines.join('')}\r\n`);
    this.#response.socket?.end(body);
  }

  /** Writes to the socket, because `response` sends all of its headers at once. */
  #tell(): void {
    if (!this.#has_begun) this.#response.socket?.write('HTTP/1.1 200 OK\r\n');
    this.#has_begun = true;
    this.#response.socket?.write('X-ClickHouse-Progress: {"read_rows":"0","read_bytes":"0"}\r\n');
  }
}

/** A ClickHouse server accepts URLs of this length (`http_max_uri_size`). */
const MAX_URL_BYTES = 1024 * 1024;

const server = createServer({ maxHeaderSize: MAX_URL_BYTES }, (request, response) => {
  answer(request, response).catch((error: unknown) => {
    console.error(error);
    response.destroy();
  });
});
// Longer than the client keeps an idle connection.
server.keepAliveTimeout = 10_000;
server.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => {
  server.close();
  session.close();
  process.exit(0);
});
