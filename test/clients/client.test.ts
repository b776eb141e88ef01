import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as fc from 'fast-check';
import { parse } from 'lossless-json';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  actionKey,
  ApiError,
  createClient,
  each,
  parseExactly,
  writeExactly,
  type AnswerAbout,
  type Client,
} from '../../clients/js/src/admin.ts';
import { OPERATIONS } from '../../clients/js/src/generated/operations.ts';
import { operationsOf, type Document } from '../../scripts/client/document.ts';
import { startTestService, type TestService } from '../engines/service.ts';

const EVERYBODY = { operator: 'AND', conditions: [{ type: 'random', percent: 100, salt: 'client' }] };
const MAX_INT64 = 2n ** 63n - 1n;

let service: TestService;
let client: Client;
let player_id: string;
beforeAll(async () => {
  service = await startTestService();
  client = clientAs(service.session_token);
  const { player_id: made } = await clientAs(service.api_key).players.identify({ external_id: 'client-1' });
  player_id = made;
});
afterAll(() => service.close());

function clientAs(token: string): Client {
  const { base_url, ingest_url } = service;
  return createClient({ base_url, ingest_url, token });
}

/** The error that a call rejects with. */
async function failureOf(work: Promise<unknown>): Promise<ApiError> {
  const result = await work.then(
    (value) => value,
    (error: unknown) => error,
  );
  if (!(result instanceof ApiError)) throw new Error(`expected an ApiError, not ${String(result)}`);
  return result;
}

type Method = (...args: unknown[]) => Promise<unknown>;
function methodOf(of: Client, name: string): Method {
  return name.split('.').reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], of) as Method;
}

describe('against the service', () => {
  it('every operation can be called: it succeeds, or fails with an error that is documented for it', async () => {
    const document = (await client.openapiJson()) as unknown as Document;
    const as = {
      internal: createClient({
        base_url: service.base_url,
        headers: () => ({ 'x-internal-secret': service.internal_secret }),
      }),
      api_key: clientAs(service.api_key),
      session: client,
    };
    // One that may be deleted.
    const { player_id: swept } = await as.api_key.players.identify({ external_id: 'swept' });
    const undocumented: string[] = [];
    const succeeded: string[] = [];
    for (const [i, operation] of operationsOf(document).entries()) {
      const { method, path, description, parameters, responses } = operation;
      const [name = '', line = ''] = Object.entries(OPERATIONS)[i] ?? [];
      expect(line.startsWith(`${method} ${path} `)).toBe(true);
      const kind = /API key/.test(description)
        ? 'api_key'
        : path.includes('/internal/')
          ? 'internal'
          : 'session';
      const ids = parameters.filter((one) => one.in === 'path').map((one) => idFor(one.name, path, swept));
      try {
        // A stream is an answer only when it has ended.
        const input = name === 'eventStream' ? { max_s: 1 } : {};
        await methodOf(as[kind], name)(...ids, ...(/[bq]/.test(line.split(' ')[2] ?? '') ? [input] : []));
        succeeded.push(name);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const known = responses[error.status]?.description ?? '';
        if (!known.includes(`${error.code}: `)) undocumented.push(`${name}: ${error.status} ${error.code}`);
      }
    }
    expect(undocumented).toEqual([]);
    const reads = Object.entries(OPERATIONS).filter(([, line]) => /^GET [^{]*( |$)/.test(line));
    const needParameters = [
      'players.search',
      'calendar',
      'unsubscribe.get',
      'currencies.fx',
      'currencies.rates.list',
      'internal.tableExport.get',
      'series',
      'compliance.periodProof',
      'search.list',
      'players.names',
    ];
    expect(reads.map(([name]) => name).filter((name) => !succeeded.includes(name))).toEqual(needParameters);
    expect(succeeded).toEqual(
      expect.arrayContaining(['players.get', 'players.timeline', 'players.kyc.get', 'me']),
    );
  });

  function idFor(name: string, path: string, player: string): string {
    if (name === 'version') return '1';
    if (name === 'slug') return 'none-here';
    if (name === 'projectId') return service.project_id;
    return path.startsWith('/v1/players/') ? player : randomUUID();
  }

  it('creates, reads, changes and deletes a record', async () => {
    const created = await client.segments.create({ name: 'Everybody', definition: EVERYBODY });
    expect(await client.segments.get(created.id)).toEqual(created);
    expect((await client.segments.update(created.id, { name: 'All' })).name).toBe('All');
    expect((await client.segments.delete(created.id)).deleted_at).not.toBeNull();
  });

  it('totals up to 2^63 - 1 are exact, and small ones have the same type', async () => {
    const { player_id: rich } = await clientAs(service.api_key).players.identify({ external_id: 'rich' });
    await service.platform.postgres.service`
      update player_totals set total_wagered = 9223372036854775807, total_won = 1, bet_count = 3
       where player_id = ${rich}`;
    const player = await client.players.get(rich);
    expect(player.total_wagered).toBe(MAX_INT64);
    expect(player.ggr).toBe(MAX_INT64 - 1n);
    expect([player.total_won, player.bet_count, player.total_deposited]).toEqual([1n, 3n, 0n]);
    expect(player.kyc_level).toBe(0);
    const { data } = await client.players.list({ external_id: 'rich' });
    expect(data.map((one) => one.total_wagered)).toEqual([MAX_INT64]);
  });

  it('amounts of 10^18 go and come back exactly', async () => {
    const wei = 10n ** 18n + 1n;
    const made = await client.bonusTemplates.create({
      name: 'Large',
      type: 'no_deposit',
      config: { amount: 100, currency: 'EUR' },
      max_win_cap: wei,
    });
    expect(made.max_win_cap).toBe(wei);
    expect((await client.bonusTemplates.get(made.id)).max_win_cap).toBe(wei);
    expect((await client.bonusTemplates.update(made.id, { max_win_cap: 5n })).max_win_cap).toBe(5n);
  });

  it('reads every page of a list once', async () => {
    const other = await service.newTenant();
    const own = clientAs(other.session_token);
    const key = clientAs(other.api_key);
    const ids = new Set<string>();
    for (let i = 0; i < 5; i++) ids.add((await key.players.identify({ external_id: `page-${i}` })).player_id);
    const cursors: (string | undefined)[] = [];
    const seen: string[] = [];
    const list = each(({ cursor }) => {
      cursors.push(cursor);
      return own.players.list({ cursor, limit: 2 });
    });
    for await (const { id } of list) seen.push(id);
    expect(seen.length).toBe(5);
    expect(new Set(seen)).toEqual(ids);
    expect(cursors.map((cursor) => cursor === undefined)).toEqual([true, false, false]);
    cursors.length = 0;
    for await (const one of each(
      ({ cursor }) => (cursors.push(cursor), own.players.list({ cursor, limit: 2 })),
    )) {
      expect(one.id).toBe(seen[0]);
      break;
    }
    expect(cursors.length).toBe(1);
  });

  it('an action with one key happens once', async () => {
    const abouts: AnswerAbout[] = [];
    const options = { idempotency_key: actionKey(), onAnswer: (about: AnswerAbout) => abouts.push(about) };
    const journey = await client.journeys.create({
      name: 'Once',
      trigger: { kind: 'api' },
      graph: { start_node_id: 'end', nodes: [{ id: 'end', type: 'end' }] },
    });
    await client.journeys.activate(journey.id);
    const first = await client.journeys.trigger(journey.id, { player_id }, options);
    const second = await client.journeys.trigger(journey.id, { player_id }, options);
    expect(second.run_id).toBe(first.run_id);
    expect(abouts.map(({ is_replayed }) => is_replayed)).toEqual([false, true]);
    expect(abouts.filter(({ request_id }) => request_id === undefined).slice(0, 20)).toEqual([]);
    expect(actionKey()).not.toBe(actionKey());
  });

  it('errors have the code, the fields and the request id', async () => {
    const missing = await failureOf(client.players.get(randomUUID()));
    expect(missing).toMatchObject({ code: 'PLAYER_NOT_FOUND', status: 404, is_temporary: false });
    expect(missing.request_id).toMatch(/^[0-9a-f-]{36}$/);
    const invalid = await failureOf(client.segments.create({ name: ' ', definition: EVERYBODY }));
    expect(invalid.issues.map(({ path }) => path)).toEqual(['name']);
    const stranger = await failureOf(clientAs('nobody').players.list());
    expect([stranger.code, stranger.status]).toEqual(['UNAUTHORIZED', 401]);
  });

  it('works on the project that is chosen, and not on another tenant’s', async () => {
    const other = await service.newTenant();
    const theirs = { tenant_id: other.tenant_id, project_id: other.project_id };
    const refused = await failureOf(client.players.list({}, { project: theirs }));
    expect(refused.status).toBeGreaterThanOrEqual(400);
    const own = { tenant_id: service.tenant_id, project_id: service.project_id };
    expect((await client.players.get(player_id, { project: own })).project_id).toBe(service.project_id);
  });

  it('sends events to the ingestion host', async () => {
    const sent = await clientAs(service.api_key).events.send({ event: 'login', player_id });
    expect(sent.accepted).toBe(true);
  });

  it('refuses ids that would lead to another path', async () => {
    for (const id of ['', '.', '..']) await expect(client.players.get(id)).rejects.toThrow(TypeError);
    expect((await failureOf(client.players.get('../segments'))).code).toBe('PLAYER_NOT_FOUND');
  });
});

describe('what is no answer of the service', () => {
  /** Answers in turn; the last one again and again. */
  async function against(
    answers: ((response: ServerResponse) => void)[],
    work: (broken: Client) => Promise<void>,
  ): Promise<void> {
    let n = 0;
    const server = createServer((_request, response) =>
      answers[Math.min(n++, answers.length - 1)]?.(response),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      await work(createClient({ base_url: `http://127.0.0.1:${port}` }));
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }
  const answering =
    (status: number, text: string, headers: Record<string, string> = {}) =>
    (response: ServerResponse): void => {
      response.writeHead(status, headers).end(text);
    };

  it.each([
    ['a page of a proxy', 200, '<html>Sign in</html>'],
    ['a page of an error', 502, '<html>Bad gateway</html>'],
    ['truncated JSON', 200, '{"data":[{"id":'],
    ['nothing', 200, ''],
    ['JSON without data', 200, '{}'],
    ['null', 200, 'null'],
    ['a list that is none', 200, '{"data":{},"meta":{"next_cursor":null}}'],
    ['an error without code', 500, '{"error":"oops"}'],
  ])('%s is ANSWER_UNREADABLE', async (_what, status, text) => {
    await against([answering(status, text)], async (broken) => {
      const error = await failureOf(broken.players.list());
      expect([error.code, error.status, error.is_temporary]).toEqual([
        'ANSWER_UNREADABLE',
        status,
        status >= 500,
      ]);
    });
  });

  it('a 429 says how long to wait', async () => {
    const limited = '{"error":{"code":"RATE_LIMITED","message":"slow down"}}';
    await against([answering(429, limited, { 'retry-after': '7' })], async (broken) => {
      const error = await failureOf(broken.players.list());
      expect(error).toMatchObject({
        code: 'RATE_LIMITED',
        status: 429,
        retry_after_s: 7,
        is_temporary: true,
      });
    });
  });

  it('no answer in time is TIMED_OUT, also when the answer stops half-way', async () => {
    const half = (response: ServerResponse): void => {
      response.writeHead(200).write('{"data":');
    };
    for (const silent of [() => undefined, half]) {
      await against([silent], async (broken) => {
        const error = await failureOf(broken.players.list({}, { timeout_ms: 100 }));
        expect([error.code, error.status, error.is_temporary]).toEqual(['TIMED_OUT', 0, true]);
      });
    }
  });

  it('a call that is given up rejects with the reason of its signal', async () => {
    await against([() => undefined], async (broken) => {
      const stop = new AbortController();
      const called = broken.players.list({}, { signal: stop.signal });
      const reason = new Error('the page was left');
      stop.abort(reason);
      await expect(called).rejects.toBe(reason);
    });
  });

  it('a closed port is UNREACHABLE, and so is a redirection, after which no credential is sent', async () => {
    await against([answering(302, '', { location: 'http://127.0.0.1:1/' })], async (broken) => {
      expect((await failureOf(broken.players.list())).code).toBe('UNREACHABLE');
    });
    const nobody = createClient({ base_url: 'http://127.0.0.1:1' });
    expect((await failureOf(nobody.players.list())).code).toBe('UNREACHABLE');
  });

  it('a list that repeats its cursor ends', async () => {
    await against([answering(200, '{"data":[],"meta":{"next_cursor":"a"}}')], async (broken) => {
      const list = each((page) => broken.segments.list(page));
      expect((await failureOf(list.next())).code).toBe('ANSWER_UNREADABLE');
    });
  });
});

describe('exact JSON', () => {
  it('reads what lossless-json reads', () => {
    const exact = (text: string): unknown =>
      parse(text, undefined, (digits) => {
        const number = Number(digits);
        return /^-?\d+$/.test(digits) && !Number.isSafeInteger(number) ? BigInt(digits) : number;
      });
    const integers = fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n });
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('9223372036854775807', '"1234567890123456789', '\\'),
    );
    const values = fc.oneof(
      integers,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      texts,
      fc.constant(null),
    );
    const json = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, values.map(plain), tie('list'), tie('record')),
      list: fc.array(tie('value'), { maxLength: 4 }).map((parts) => `[${parts.join(' , ')}]`),
      record: fc
        .dictionary(
          texts.filter((key) => key !== '__proto__'),
          tie('value'),
          { maxKeys: 4 },
        )
        .map(
          (record) =>
            `{${Object.entries(record)
              .map(([key, value]) => `${JSON.stringify(key)}: ${String(value)}`)
              .join()}}`,
        ),
    })).value;
    fc.assert(
      fc.property(json, (text) => {
        expect(parseExactly(String(text))).toEqual(exact(String(text)));
      }),
    );
    function plain(value: unknown): string {
      return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
    }
  });

  it('leaves text alone that is no JSON', () => {
    for (const text of ['', '{', '[1234567890123456789', '"1234567890123456789', '01234567890123456789']) {
      expect(() => parseExactly(text), text).toThrow(SyntaxError);
    }
  });

  it('writes bigints as the service takes them', () => {
    expect(writeExactly({ a: 5n, b: -(2n ** 53n), c: [MAX_INT64], d: 'x' })).toBe(
      '{"a":5,"b":"-9007199254740992","c":["9223372036854775807"],"d":"x"}',
    );
  });
});
