import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.ts';
import { startTestService, type TestService, type TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { accept, api, member, newPlayer } from './event-client.ts';

let service: TestService;
let other: TestTenant;
/** The last test closes the service. */
let is_closed = false;
const open = new Set<Stream>();
beforeAll(async () => {
  service = await startTestService();
  other = await service.newTenant();
});
afterAll(async () => {
  for (const stream of open) stream.close();
  if (!is_closed) await service.close();
});

interface Shown {
  event: string | undefined;
  id: string | undefined;
  data: Record<string, unknown>;
}

/** One stream, read like a browser does. */
class Stream {
  readonly all: Shown[] = [];
  text = '';
  is_over = false;
  readonly #leave = new AbortController();

  static async open(
    query = '',
    {
      session = service.session_token,
      headers = {},
    }: { session?: string; headers?: Record<string, string> } = {},
  ): Promise<Stream> {
    const stream = new Stream();
    const response = await fetch(`${service.base_url}/v1/event-stream${query}`, {
      headers: { authorization: `Bearer ${session}`, ...headers },
      signal: stream.#leave.signal,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    open.add(stream);
    void stream.#read(response);
    await until((saw) => saw(stream.of('ready').length) === 1);
    return stream;
  }

  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body ?? [])
        this.#take(decoder.decode(chunk as Uint8Array, { stream: true }));
    } catch {
      // The test has left, or the server has cut it off.
    }
    this.is_over = true;
  }

  #take(text: string): void {
    this.text += text;
    const blocks = this.text.split('\n\n');
    this.all.length = 0;
    for (const block of blocks.slice(0, -1)) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
      const data = field('data');
      if (data !== undefined)
        this.all.push({ event: field('event'), id: field('id'), data: JSON.parse(data) as Shown['data'] });
    }
  }

  /** What came under this name; undefined: accepted events. */
  of(event?: string): Shown[] {
    return this.all.filter((one) => one.event === event);
  }

  /** The numbers in the properties of the events so far. */
  get numbers(): unknown[] {
    return this.of().map(({ data }) => (data['properties'] as { n?: number }).n);
  }

  close(): void {
    this.#leave.abort();
    open.delete(this);
  }
}

const event = (n: number, more: object = {}) => ({
  event: 'custom_live',
  anonymous_id: 'visitor',
  properties: { n },
  ...more,
});

it('shows events of the project as they are accepted, with personal data masked, and none of others', async () => {
  const [mine, theirs] = [await Stream.open(), await Stream.open('', { session: other.session_token })];
  await accept(service, other, event(7));
  const properties = { n: 1, email: 'jane@example.com', contact: { phone: '+4915112345' } };
  const ingestion_id = await accept(service, service, event(1, { properties }), event(2));
  await until((saw) => saw(mine.of().length) === 2 && saw(theirs.of().length) === 1);
  expect(mine.of()[0]?.data).toMatchObject({
    ingestion_id,
    index: 0,
    event: 'custom_live',
    player_id: null,
    anonymous_id: 'visitor',
    is_shortened: false,
    properties: { n: 1, email: 'j•••@example.com', contact: { phone: '+•••45' } },
  });
  expect(mine.text).not.toContain('jane');
  expect(mine.of()[1]?.data).toMatchObject({ ingestion_id, index: 1 });
  expect(theirs.numbers).toEqual([7]);
  mine.close();
  theirs.close();
});

it('text of the caller that looks like the ids of another project changes nothing', async () => {
  const theirs = await Stream.open('', { session: other.session_token });
  const { tenant_id, project_id } = other;
  const ids = `,"tenant_id":"${tenant_id}","project_id":"${project_id}"`;
  await accept(service, service, event(1, { anonymous_id: ids, properties: { tenant_id, project_id } }));
  await accept(service, other, event(2));
  await until((saw) => saw(theirs.of().length) > 0);
  expect(theirs.numbers).toEqual([2]);
  theirs.close();
});

it('shows only events of a name, or of a player by any of its ids', async () => {
  const player_id = await newPlayer(service, service, { anonymous_id: 'phone-1', external_id: 'p1' });
  const [named, his] = [await Stream.open('?event=login'), await Stream.open(`?player_id=${player_id}`)];
  await accept(service, service, event(1), { ...event(2), event: 'login' });
  await accept(service, service, event(3, { anonymous_id: 'phone-1' }));
  await accept(service, service, {
    event: 'custom_live',
    player_id: player_id.toUpperCase(),
    properties: { n: 4 },
  });
  await until((saw) => saw(named.of().length) === 1 && saw(his.of().length) === 2);
  expect(named.numbers).toEqual([2]);
  // The identities may be in different partitions of the log, between which there is no order.
  expect(new Set(his.numbers)).toEqual(new Set([3, 4]));
  named.close();
  his.close();
});

/** The value of a metric without labels. */
async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${service.base_url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

it('shows at most 50 events a second, and counts the others', async () => {
  const before = await metric('event_stream_skipped_total');
  const stream = await Stream.open();
  // Those of earlier tests may still be leaving.
  await until(async (saw) => saw(await metric('event_stream_viewers')) === 1);
  const numbers = Array.from({ length: 100 }, (_, n) => n);
  await accept(service, service, ...numbers.map((n) => event(n)));
  const skipped = () => stream.of('skipped').reduce((sum, { data }) => sum + Number(data['count']), 0);
  await until((saw) => saw(stream.of().length + skipped()) === 100);
  // The batch may be shown in two looks, with a second between them.
  expect(stream.of().length).toBeLessThanOrEqual(100);
  expect(stream.numbers.slice(0, 50)).toEqual(numbers.slice(0, 50));
  expect(skipped()).toBeGreaterThan(0);
  expect((await metric('event_stream_skipped_total')) - before).toBe(skipped());
  stream.close();
  await until(async (saw) => saw(await metric('event_stream_viewers')) === 0);
});

it('leaves out long properties', async () => {
  const stream = await Stream.open();
  await accept(service, service, event(1, { properties: { text: 'x'.repeat(10_000) } }));
  await until((saw) => saw(stream.of().length) === 1);
  expect(stream.of()[0]?.data).toMatchObject({ is_shortened: true, properties: {} });
  stream.close();
});

it('goes on after the last event that was seen, also when nobody watched meanwhile', async () => {
  const stream = await Stream.open();
  await accept(service, service, event(1));
  await until((saw) => saw(stream.of().length) === 1);
  const last = stream.of()[0]?.id ?? '';
  await accept(service, service, event(2));
  await until((saw) => saw(stream.of().length) === 2);
  stream.close();
  await accept(service, service, event(3));
  const again = await Stream.open('', { headers: { 'last-event-id': last } });
  await accept(service, service, event(4));
  await until((saw) => saw(again.of().length) === 3);
  expect(again.numbers).toEqual([2, 3, 4]);
  expect(again.of('skipped')).toEqual([]);
  again.close();
  // From before what is known: nobody knows how many were missed. What was known is forgotten when a viewer comes after
  // the service has seen that all others left.
  await until(async (saw) => {
    (await Stream.open()).close();
    const old = await Stream.open('', { headers: { 'last-event-id': '0:0' } });
    await until(() => old.all.length > 1);
    old.close();
    return saw(old.of('skipped')[0]?.data)?.['count'] === null;
  });
  for (const id of ['nonsense', '0:x', '0:1,']) {
    const fresh = await Stream.open('', { headers: { 'last-event-id': id } });
    expect(fresh.of()).toEqual([]);
    fresh.close();
  }
});

it('is told tenant and project by the query, which cannot contradict the headers', async () => {
  const { tenant_id, project_id, session_token } = other;
  const stream = await Stream.open(`?tenant_id=${tenant_id}&project_id=${project_id}`, {
    session: session_token,
  });
  await accept(service, other, event(1));
  await until((saw) => saw(stream.of().length) === 1);
  stream.close();
  const refused = async (query: string, headers: Record<string, string> = {}) => {
    const { status, error } = await api(service, session_token, `/v1/event-stream${query}`, { headers });
    return [status, error.code];
  };
  expect(await refused(`?tenant_id=${service.tenant_id}`)).toEqual([403, 'FORBIDDEN']);
  expect(await refused(`?project_id=${service.project_id}`)).toEqual([404, 'PROJECT_NOT_FOUND']);
  expect(await refused(`?project_id=${project_id}&project_id=${project_id}`)).toEqual([
    422,
    'VALIDATION_ERROR',
  ]);
  expect(await refused(`?tenant_id=${tenant_id}`, { 'x-tenant-id': service.tenant_id })).toEqual([
    422,
    'VALIDATION_ERROR',
  ]);
  for (const query of ['?event=nonsense', '?player_id=x', '?max_s=0', '?max_s=3601', '?other=1'])
    expect(await refused(query)).toEqual([422, 'VALIDATION_ERROR']);
  expect(await refused(`?player_id=${newId()}`)).toEqual([404, 'PLAYER_NOT_FOUND']);
  // Other endpoints do not read the query for it.
  const players = await api(service, session_token, `/v1/players?tenant_id=${tenant_id}`);
  expect(players.status).toBe(422);
});

it('ends after max_s, and tells the client when to come again', async () => {
  const stream = await Stream.open('?max_s=1');
  await until(() => stream.is_over);
  expect(stream.text).toMatch(/\nretry: \d{4}\n\n$/);
});

it('of one user at most 5 are open, and others of the tenant open theirs', async () => {
  const { session_token: session, tenant_id } = await service.newTenant();
  const streams = await Promise.all(Array.from({ length: 5 }, () => Stream.open('', { session })));
  const beyond = await api(service, session, '/v1/event-stream');
  expect([beyond.status, beyond.error.code]).toEqual([429, 'RATE_LIMITED']);
  expect(beyond.error.message).toContain('you have 5 streams open');
  streams.push(await Stream.open('', { session: await member(service, tenant_id, 'viewer') }));
  for (const stream of streams) stream.close();
});

it('of one tenant at most 20 are open; a closed one makes room', async () => {
  const tenant = await service.newTenant();
  const sessions = [
    tenant.session_token,
    ...(await Promise.all([1, 2, 3].map(() => member(service, tenant.tenant_id, 'viewer')))),
  ];
  const streams = await Promise.all(
    sessions.flatMap((session) => Array.from({ length: 5 }, () => Stream.open('', { session }))),
  );
  const session = await member(service, tenant.tenant_id, 'viewer');
  const beyond = await fetch(`${service.base_url}/v1/event-stream`, {
    headers: { authorization: `Bearer ${session}` },
  });
  expect(beyond.status).toBe(429);
  expect(beyond.headers.get('retry-after')).toBe('30');
  expect(await beyond.json()).toMatchObject({ error: { code: 'RATE_LIMITED' } });
  (await Stream.open('', { session: other.session_token })).close();
  streams[0]?.close();
  await until(async (saw) => {
    const { status, body } = saw(
      await fetch(`${service.base_url}/v1/event-stream?max_s=1`, {
        headers: { authorization: `Bearer ${session}` },
      }),
    );
    await body?.cancel();
    return status === 200;
  });
  for (const stream of streams) stream.close();
});

it('ends at once when the membership of its viewer ends', async () => {
  const user_id = 'leaver';
  const headers = { 'x-internal-secret': service.internal_secret, 'content-type': 'application/json' };
  const internal = `${service.base_url}/v1/internal`;
  const { tenant_id } = service;
  const body = JSON.stringify({ tenant_id, user_id, role: 'viewer' });
  await fetch(`${internal}/memberships`, { method: 'POST', headers, body });
  const session = (await service.service.auth?.dev_issuer?.issueSession(user_id)) ?? '';
  const [stays, leaves] = await Promise.all([
    Stream.open('', { session: await member(service, tenant_id, 'viewer') }),
    Stream.open('', { session }),
  ]);
  const query = `tenant_id=${tenant_id}&user_id=${user_id}`;
  const ended = await fetch(`${internal}/memberships?${query}`, { method: 'DELETE', headers });
  expect(ended.status).toBe(200);
  await until(() => leaves.is_over);
  // Both were opened together: the check that comes with a heartbeat would be later.
  expect([leaves.text, stays.text].join()).not.toContain(': heartbeat');
  await until(() => stays.text.includes(': heartbeat'));
  expect(stays.is_over).toBe(false);
  stays.close();
});

it('a service that closes ends the streams at once', async () => {
  const stream = await Stream.open();
  is_closed = true;
  const closing = service.close();
  await until(() => stream.is_over);
  // A stream that ends later is cut off, without this line.
  expect(stream.text).toMatch(/\nretry: \d{4}\n\n$/);
  await closing;
});
