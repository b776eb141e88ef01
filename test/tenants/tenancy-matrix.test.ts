import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EFFORT } from '../engines/effort.ts';
import { startTestService, type TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import { dereferenced } from '../http/dereferenced.ts';
import { call, type Answer } from '../engines/http-client.ts';
import { digestOf, fillProject, type FilledProject } from './filled-project.ts';
import { CASES, type IdField } from './tenancy-cases.ts';

/** An endpoint as the OpenAPI document describes it, which is made from `apiEndpoints()`. */
interface Declared {
  name: string;
  method: string;
  path: string;
  mode: 'public' | 'internal' | 'api_key' | 'session';
  /** Whether X-Project-Id chooses the project. */
  of_project: boolean;
  /** Names of the query's parameters. */
  query: string[];
  host: 'base_url' | 'ingest_url';
}

interface Operation {
  security: Record<string, unknown>[];
  parameters: { name: string; in: string }[];
  servers?: unknown;
}

let service: TestService;
let declared: Declared[];
/** The project whose owner attacks: its data belongs to the attacker. */
let own: FilledProject;
/** Another project of the attacker, whose data attacks may change. */
let spare: FilledProject;
/** Another tenant, and another project of the attacker's tenant. */
let victims: { kind: 'tenant' | 'project'; project: FilledProject; before: Record<string, string> }[];
/** Session of a user who is an owner of the attacker's tenant and a viewer of the other tenant. */
let guest: string;
const ran = new Map<string, number>();

beforeAll(async () => {
  service = await startTestService();
  const other = await service.newTenant('SEK');
  const project = async () => ({ ...service, project_id: await newProject(service) });
  const [one, another] = [await project(), await project()];
  const [mine, more, sibling, theirs] = await Promise.all([
    fillProject(service, service, 'mine'),
    fillProject(service, one, 'spare'),
    fillProject(service, another, 'sibling'),
    fillProject(service, other, 'victim'),
  ]);
  own = mine;
  spare = more;
  theirs.markers.push(theirs.tenant_id, theirs.provider_id, theirs.tier_id);
  guest = await newGuest(service.tenant_id, other.tenant_id);
  // Uses of their keys while they were filled are written at some time: before, not between.
  await service.service.key_uses?.flush();
  victims = [
    { kind: 'tenant', project: theirs, before: await digestOf(service, theirs, 'tenant') },
    { kind: 'project', project: sibling, before: await digestOf(service, sibling, 'project') },
  ];
  declared = await readDeclared();
});
afterAll(async () => {
  try {
    await checkLastEndpoints();
  } finally {
    await service.close();
  }
});

async function internal(path: string, body: object): Promise<Record<string, string>> {
  const headers = { 'x-internal-secret': service.internal_secret };
  const url = `${service.base_url}/v1/internal/${path}`;
  return (await call(url, undefined, { method: 'POST', body, headers })).body.data as Record<string, string>;
}

async function newProject({ tenant_id }: { tenant_id: string }): Promise<string> {
  return (await internal('projects', { tenant_id, name: 'Second' }))['project_id'] ?? '';
}

async function newGuest(home: string, abroad: string): Promise<string> {
  await internal('memberships', { tenant_id: home, user_id: 'guest', role: 'owner' });
  await internal('memberships', { tenant_id: abroad, user_id: 'guest', role: 'viewer' });
  return (await internal('dev-sessions', { user_id: 'guest' }))['session_token'] ?? '';
}

async function readDeclared(): Promise<Declared[]> {
  const { text } = await call(`${service.base_url}/openapi.json`, undefined);
  const document = dereferenced(JSON.parse(text) as Record<string, unknown>) as {
    paths: Record<string, Record<string, Operation>>;
  };
  const modes = { internal_secret: 'internal', api_key: 'api_key', session: 'session' } as const;
  return Object.entries(document.paths).flatMap(([template, operations]) =>
    Object.entries(operations).map(([verb, { security, parameters, servers }]) => {
      const [method, path] = [verb.toUpperCase(), template.replace(/\{(\w+)\}/g, ':$1')];
      const scheme = Object.keys(security[0] ?? {})[0] as keyof typeof modes | undefined;
      return {
        name: `${method} ${path}`,
        method,
        path,
        mode: scheme === undefined ? 'public' : modes[scheme],
        of_project: parameters.some(({ name }) => name === 'X-Project-Id'),
        query: parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name),
        host: servers === undefined ? 'base_url' : 'ingest_url',
      } as const;
    }),
  );
}

interface Attempt {
  token: string | undefined;
  /** The project of each path parameter, in order. */
  from: FilledProject[];
  /** The project whose ids the body has. */
  body_of: FilledProject;
  headers?: Record<string, string>;
  query?: string;
  /** The expected statuses. When absent, every status below 500 is allowed. */
  statuses?: number[];
}

/**
 * Makes the attempt and checks its status. The answer must contain no marker of a victim that the request did not
 * contain.
 */
async function attempt(endpoint: Declared, tried: Attempt): Promise<Answer> {
  const { name, method, path, host } = endpoint;
  const { path: ids = {}, body, query = '', of_tenant } = CASES[name] ?? {};
  const projects = [...tried.from];
  const filled = path.replace(/:(\w+)/g, (_all, parameter: string) => {
    const id = ids[parameter];
    if (id === undefined) throw new Error(`${name}: the case does not say what :${parameter} is`);
    return projects.shift()?.[id] ?? '';
  });
  const asked_for = tried.query ?? (typeof query === 'string' ? query : query(tried.body_of));
  const url = service[host] + filled + asked_for;
  const payload = body?.(tried.body_of);
  const headers = tried.headers ?? {};
  const answer = await call(url, tried.token, {
    method,
    headers,
    ...(payload === undefined || method === 'GET' ? {} : { body: payload }),
  });
  ran.set(name, (ran.get(name) ?? 0) + 1);
  const asked = JSON.stringify([url, payload ?? null, headers]);
  const what = `${name} ${asked}: ${answer.text.slice(0, 300)}`;
  if (tried.statuses === undefined) expect(answer.status, what).toBeLessThan(500);
  else expect(tried.statuses, what).toContain(answer.status);
  const strangers = victims.filter(({ kind }) => of_tenant !== true || kind !== 'project');
  for (const marker of strangers.flatMap(({ project }) => project.markers)) {
    if (!asked.includes(marker)) expect(answer.text, what).not.toContain(marker);
  }
  return answer;
}

/** All combinations of `count` ids of which each comes from one project or the other. */
function mixtures(count: number, one: FilledProject, other: FilledProject): FilledProject[][] {
  if (count === 0) return [[]];
  return mixtures(count - 1, one, other).flatMap((rest) => [
    [...rest, one],
    [...rest, other],
  ]);
}

const parametersOf = ({ path }: Declared) => path.match(/:\w+/g)?.length ?? 0;
const NOT_THERE = [403, 404];
/** 404 is included, because the attacker's own project may lack the object, for example a rate. */
const OWN = [200, 201, 404];

/** The attempts of an owner with a valid session of their own. */
function sessionAttempts(endpoint: Declared): Attempt[] {
  const count = parametersOf(endpoint);
  const attempts: Attempt[] = [];
  const ours = Array.from({ length: count }, () => own);
  for (const { kind, project } of victims) {
    const foreign = mixtures(count, own, project).filter((projects) => {
      if (!projects.includes(project)) return false;
      // Members of a tenant may access all of its projects.
      return kind === 'tenant' || endpoint.of_project || projects.includes(own);
    });
    for (const from of foreign) {
      const tried = { from, body_of: project, statuses: NOT_THERE };
      attempts.push(
        { ...tried, token: own.session },
        { ...tried, token: own.session, headers: { 'x-tenant-id': own.tenant_id } },
        { ...tried, token: own.session, headers: { 'x-project-id': own.project_id } },
        { ...tried, token: guest, headers: { 'x-tenant-id': own.tenant_id } },
      );
    }
    // The attacker's own ids with a foreign X-Project-Id: the header must name a project of the tenant, and it selects
    // the project.
    const named = { 'x-project-id': project.project_id };
    const decides = kind === 'tenant' || count > 0;
    if (endpoint.of_project && decides)
      attempts.push({
        token: own.session,
        from: ours,
        body_of: own,
        headers: named,
        statuses: NOT_THERE,
      });
    if (kind === 'project') continue;
    const theirs = Array.from({ length: count }, () => project);
    const asThem = { 'x-tenant-id': project.tenant_id };
    for (const from of count === 0 ? [ours] : [ours, theirs]) {
      const tried = { token: own.session, from, body_of: project, statuses: NOT_THERE };
      attempts.push({ ...tried, headers: asThem }, { ...tried, headers: { ...asThem, ...named } });
      if (endpoint.of_project || from === theirs) attempts.push({ ...tried, headers: named });
    }
    if (!endpoint.of_project) {
      // These endpoints ignore the header, and act on the attacker's own objects.
      const from = ours.map(() => spare);
      attempts.push({ token: own.session, from, body_of: spare, headers: named, statuses: OWN });
    }
    if (endpoint.method !== 'GET' && CASES[endpoint.name]?.reads !== true)
      attempts.push({ token: guest, from: theirs, body_of: project, headers: asThem, statuses: NOT_THERE });
  }
  return attempts;
}

/** The attempts of callers without the right credential, with the victims' ids in the body. */
function strangerAttempts(): Attempt[] {
  return victims.flatMap(({ project }) =>
    [own.session, own.api_key, undefined].map((token) => ({
      token,
      from: [],
      body_of: project,
      headers: { 'x-internal-secret': 'guessed', 'x-tenant-id': project.tenant_id },
      statuses: [401],
    })),
  );
}

/**
 * Attempts whose headers name a victim, although the credential determines the project: the headers must have no
 * effect.
 */
function namingAttempts(token: string | undefined, statuses = [200, 202]): Attempt[] {
  return victims.flatMap(({ project }) =>
    [{ 'x-tenant-id': project.tenant_id }, { 'x-project-id': project.project_id }].map((headers) => ({
      token,
      from: [],
      body_of: own,
      headers,
      statuses,
    })),
  );
}

function attemptsOn(endpoint: Declared): Attempt[] {
  if (CASES[endpoint.name]?.of_user === true) return namingAttempts(own.session);
  if (endpoint.mode === 'session') return sessionAttempts(endpoint);
  if (endpoint.mode === 'internal') return strangerAttempts();
  const token = endpoint.mode === 'api_key' ? own.api_key : undefined;
  return namingAttempts(token, CASES[endpoint.name]?.strangers);
}

async function expectUnchanged(what: string): Promise<void> {
  for (const { kind, project, before } of victims) {
    expect(await digestOf(service, project, kind), what).toEqual(before);
  }
}

test('every endpoint of both hosts has a case', () => {
  expect(declared.map(({ name }) => name).sort()).toEqual(Object.keys(CASES).sort());
  // The digests cover many tables, and the important ones have rows.
  for (const { before } of victims) {
    expect(Object.keys(before).length).toBeGreaterThan(8);
    const segments = ['segments', 'segment_members', 'clickhouse segment_members'];
    const campaigns = ['campaigns', 'campaign_variants', 'message_sends', 'clickhouse campaign_sends'];
    for (const table of [
      'players',
      'player_totals',
      'ledger',
      'api_keys',
      'clickhouse events',
      ...segments,
      ...campaigns,
      'journeys',
    ]) {
      expect(before[table], table).toMatch(/^[1-9]\d* rows/);
    }
  }
});

/** All data of the victims is compared once for so many endpoints, which costs more than the attempts. */
const ENDPOINTS_AT_ONCE = EFFORT === 'nightly' ? 1 : 20;
/** Those whose attempts were made since the data was compared. */
const unchecked: Declared[] = [];

async function checkLastEndpoints(): Promise<void> {
  const endpoints = unchecked.splice(0);
  if (endpoints.length === 0) return;
  try {
    await expectUnchanged(endpoints.map(({ name }) => name).join(', '));
  } catch (cause) {
    const guilty = await changingAmong(endpoints);
    throw new Error(`data of others was changed, and is again by: ${guilty.join(', ')}`, { cause });
  }
}

/** The endpoints whose attempts, made again, change data of the victims; found by halves. */
async function changingAmong(endpoints: Declared[]): Promise<string[]> {
  const digests = () => Promise.all(victims.map(({ kind, project }) => digestOf(service, project, kind)));
  const before = await digests();
  for (const endpoint of endpoints)
    for (const tried of attemptsOn(endpoint)) await attempt(endpoint, tried).catch(() => undefined);
  if (isDeepStrictEqual(await digests(), before)) return [];
  if (endpoints.length === 1) return [endpoints[0]?.name ?? ''];
  const half = Math.ceil(endpoints.length / 2);
  return [
    ...(await changingAmong(endpoints.slice(0, half))),
    ...(await changingAmong(endpoints.slice(half))),
  ];
}

describe.each(Object.keys(CASES))('%s', (name) => {
  test('reveals no data of others and changes none', async () => {
    const endpoint = declared.find((each) => each.name === name);
    if (endpoint === undefined) throw new Error('there is no such endpoint any more: remove its case');
    unchecked.push(endpoint);
    for (const tried of attemptsOn(endpoint)) await attempt(endpoint, tried);
    const is_last = name === Object.keys(CASES).at(-1);
    if (unchecked.length >= ENDPOINTS_AT_ONCE || is_last) await checkLastEndpoints();
  });
});

test('cursors of other tenants and projects are refused', async () => {
  const lists = declared.filter(({ query, mode }) => mode === 'session' && query.includes('cursor'));
  const used: string[] = [];
  for (const endpoint of lists) {
    for (const { kind, project } of victims) {
      // The projects of a tenant share its providers and its other tenant-wide objects.
      if (kind === 'project' && !endpoint.of_project) continue;
      const { path: ids = {} } = CASES[endpoint.name] ?? {};
      const theirs = endpoint.path.replace(
        /:(\w+)/g,
        (_all, name: string) => project[ids[name] ?? 'player_id'],
      );
      const headers = { 'x-project-id': project.project_id };
      const page = await call(`${service.base_url}${theirs}?limit=1`, project.session, { headers });
      const cursor = page.body.meta?.next_cursor ?? null;
      if (cursor === null) continue;
      used.push(endpoint.name);
      const count = parametersOf(endpoint);
      const tried = { token: own.session, body_of: own, query: `?limit=1&cursor=${cursor}` };
      await attempt(endpoint, { ...tried, from: Array.from({ length: count }, () => own), statuses: [422] });
      if (count > 0) {
        const from = Array.from({ length: count }, () => project);
        await attempt(endpoint, { ...tried, from, statuses: [404, 422] });
      }
    }
  }
  expect(used.filter((name) => name === 'GET /v1/players')).toHaveLength(2);
  expect(used.filter((name) => name === 'GET /v1/players/:id/timeline')).toHaveLength(2);
  expect(used.filter((name) => name === 'GET /v1/segments')).toHaveLength(2);
  expect(used.filter((name) => name === 'GET /v1/templates')).toHaveLength(2);
  expect(used.filter((name) => name === 'GET /v1/messaging-providers')).toHaveLength(1);
  expect(used.filter((name) => name === 'GET /v1/campaigns')).toHaveLength(2);
  expect(used.filter((name) => name === 'GET /v1/journeys')).toHaveLength(2);
  expect(used.filter((name) => name === 'GET /v1/campaigns/:id/recipients')).toHaveLength(2);
});

test('filters with values of others find nothing', async () => {
  const used: string[] = [];
  // They have no list, and name tenant and project in their query: test/console/events, test/engage/campaigns/outlook.
  const in_query = [
    'GET /v1/event-stream',
    'GET /v1/templates/:id/preview-frame',
    'GET /v1/exports/:id/file',
  ];
  const lists = declared.filter(
    ({ name, mode, method }) => mode === 'session' && method === 'GET' && !in_query.includes(name),
  );
  for (const endpoint of lists) {
    for (const { kind, project } of victims) {
      if (kind === 'project' && CASES[endpoint.name]?.of_tenant === true) continue;
      for (const name of endpoint.query.filter((name): name is IdField => name in project)) {
        const query = `?${name}=${encodeURIComponent(project[name])}`;
        const from = Array.from({ length: parametersOf(endpoint) }, () => own);
        const answer = await attempt(endpoint, {
          token: own.session,
          from,
          body_of: own,
          query,
          statuses: [200, 404],
        });
        const found = answer.status === 200 ? answer.body.data : [];
        expect(found, `${endpoint.name}${query}`).toEqual([]);
        used.push(`${endpoint.name} ${name}`);
      }
    }
  }
  for (const name of ['email', 'external_id', 'phone', 'telegram_id']) {
    expect(used.filter((each) => each === `GET /v1/players ${name}`)).toHaveLength(2);
  }
  expect(used.filter((each) => each === 'GET /v1/segments/:id/explain player_id')).toHaveLength(2);
  expect(used.filter((each) => each === 'GET /v1/audit-log project_id')).toHaveLength(1);
});

test.each([
  ['players', 'player_id'],
  ['segments', 'segment_id'],
  ['campaigns', 'campaign_id'],
  ['templates', 'template_id'],
] as const)('the list of %s has all rows of one project, and no others', async (list, id) => {
  const projects = [own, ...victims.map(({ project }) => project)];
  for (const project of projects) {
    const headers = { 'x-project-id': project.project_id };
    const url = `${service.base_url}/v1/${list}?limit=200`;
    const { data, text } = await call<{ project_id: string }[]>(url, project.session, { headers });
    expect(data.map(({ project_id }) => project_id)).toEqual(data.map(() => project.project_id));
    expect(text).toContain(project[id]);
    for (const other of projects.filter((each) => each !== project)) {
      for (const marker of other.markers) expect(text).not.toContain(marker);
    }
  }
});

describe('bodies that contain ids of others', () => {
  const identify = (body: object) =>
    call(`${service.base_url}/v1/players/identify`, own.api_key, { method: 'POST', body });

  test('identify finds no player of others by any id', async () => {
    for (const { project } of victims) {
      const { player_id, external_id, anonymous_id } = project;
      for (const beside of [
        {},
        { external_id: 'mine-too' },
        { anonymous_id: own.anonymous_id },
        { external_id },
      ]) {
        const answer = await identify({ player_id, ...beside, traits: { email: 'stolen@example.com' } });
        expect([answer.status, answer.body.error?.code]).toEqual([404, 'PLAYER_NOT_FOUND']);
      }
      for (const ids of [{ external_id }, { anonymous_id }, { external_id, anonymous_id }]) {
        const answer = await identify({ ...ids, traits: { email: 'own@example.com' } });
        expect(answer.status, answer.text).toBe(200);
        expect(project.markers).not.toContain((answer.body.data as { player_id: string }).player_id);
      }
    }
    await expectUnchanged('identify');
  });

  test('events for players of others become dead letters', async () => {
    const { ingest_url, platform } = service;
    for (const { project } of victims) {
      const transaction_id = `theft-${project.project_id}`;
      const properties = { amount: 1, currency: 'EUR', transaction_id, payment_method: 'card' };
      const events = [
        { event: 'deposit_confirmed', player_id: project.player_id, properties },
        { event: 'self_exclusion_set', player_id: project.player_id, anonymous_id: own.anonymous_id },
        { event: 'custom_theft', player_id: project.player_id.toUpperCase() },
      ];
      const body = { events };
      const sent = await call(`${ingest_url}/v1/events/batch`, own.api_key, { method: 'POST', body });
      expect(sent.status, sent.text).toBe(202);
      const { ingestion_id } = sent.body.data as { ingestion_id: string };
      const letters = await until('the dead letters are there', async (saw) => {
        const headers = { 'x-internal-secret': service.internal_secret };
        const url = `${service.base_url}/v1/internal/dead-letters?limit=200`;
        const page = await call<{ reason: string; value: string }[]>(url, undefined, { headers });
        const ours = saw(page.data).filter(({ value }) => value.includes(ingestion_id));
        return ours.length === events.length ? ours : undefined;
      });
      expect(letters.map(({ reason }) => reason)).toEqual(events.map(() => 'UNKNOWN_PLAYER'));
      // Transaction and bet ids are scoped to a project, so the attacker's events do not claim the victim's ids.
      const again = { ...properties, transaction_id: 'victim-deposit-0', amount: 77 };
      const deposit = { event: 'deposit_confirmed', anonymous_id: project.anonymous_id, properties: again };
      const url = `${ingest_url}/v1/events`;
      expect((await call(url, own.api_key, { method: 'POST', body: deposit })).status).toBe(202);
    }
    expect(
      await platform.postgres.service`
      select from ledger join projects using (project_no)
      where project_id = ${own.project_id} and reference like 'theft-%'`,
    ).toHaveLength(0);
    await expectUnchanged('events');
  });
});

test('every endpoint got as many attempts as its parameters require', () => {
  const least: Record<Declared['mode'], (endpoint: Declared) => number> = {
    public: () => 4,
    internal: () => 6,
    api_key: () => 4,
    // For another tenant's ids, 4 attempts for each combination; for its tenant and project headers, at least 3 more.
    session: (endpoint) => 4 * (2 ** parametersOf(endpoint) - 1) + 3,
  };
  const missing = declared.filter(
    (endpoint) => (ran.get(endpoint.name) ?? 0) < least[endpoint.mode](endpoint),
  );
  expect(missing.map(({ name }) => name)).toEqual([]);
  expect([...ran.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(200);
});
