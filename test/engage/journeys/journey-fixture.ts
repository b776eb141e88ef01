import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Answer } from '../../engines/http-client.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

type Json = Record<string, unknown>;

export const end = { id: 'end', type: 'end' };
export const wait = (next = 'end', id = 'wait', duration_ms = 60_000) => ({
  id,
  type: 'wait',
  duration_ms,
  next,
});
export const awaits = (event: string, id = 'event') => ({
  id,
  type: 'wait_for_event',
  event,
  timeout_ms: 3_600_000,
  next: 'end',
  timeout_next: 'end',
});
export const graphOf = (...nodes: Json[]) => ({ start_node_id: nodes[0]?.['id'], nodes: [...nodes, end] });

/** A running run, as the runner would have left it. */
export interface RunFields {
  version?: number;
  node_id?: string;
  seq?: number;
  entered_at?: Date | null;
  due_at?: Date;
  /** The event that it waits for. */
  awaits?: string;
  has_timer?: boolean;
}

/** The API with a tenant, and what journeys refer to. */
export interface JourneyFixture {
  fixture: Fixture;
  tenant: Tenant;
  api: (method: string, path: string, body?: unknown) => Promise<Answer>;
  /** A valid request body; `rest` replaces or adds fields. */
  body: (rest?: Json) => Json;
  /** Creates a journey; returns its id. */
  make: (rest?: Json) => Promise<string>;
  /** Creates an active journey; returns its id. */
  makeActive: (rest?: Json) => Promise<string>;
  /** Inserts runs with timers and waits; returns their ids. */
  storeRuns: (journey_id: string, runs: readonly RunFields[]) => Promise<string[]>;
  /** The rows of a table that are of the journey's runs, in the order of the run ids. */
  rowsOf: (table: string, journey_id: string) => Promise<Json[]>;
}

export async function openJourneyFixture(): Promise<JourneyFixture> {
  const fixture = await sharedFixture();
  const tenant = await fixture.makeTenant();
  const { tenant_id, project_id } = tenant;
  const sql = fixture.platform.postgres.service;
  const api: JourneyFixture['api'] = (method, path, body) =>
    fixture.as(tenant.session, path, { method, ...(body === undefined ? {} : { body }) });
  const body: JourneyFixture['body'] = (rest = {}) => ({
    name: 'A journey',
    trigger: { kind: 'event', event: 'deposit_confirmed' },
    graph: graphOf(wait()),
    ...rest,
  });
  const make: JourneyFixture['make'] = async (rest) => {
    const answer = await api('POST', '/v1/journeys', body(rest));
    expect(answer.status, answer.text).toBe(201);
    return String(answer.body.data['id']);
  };
  return {
    fixture,
    tenant,
    api,
    body,
    make,
    async makeActive(rest) {
      const id = await make(rest);
      const answer = await api('POST', `/v1/journeys/${id}/activate`);
      expect(answer.status, answer.text).toBe(200);
      return id;
    },
    async storeRuns(journey_id, runs) {
      const ids: string[] = [];
      for (const { awaits, has_timer = true, ...fields } of runs) {
        const owner = { tenant_id, project_id, run_id: randomUUID() };
        const { seq = 1, due_at = new Date(Date.now() + 60_000) } = fields;
        const known = { journey_id, version: 1, player_id: randomUUID(), status: 'running', node_id: 'wait' };
        const started = { entered_at: new Date(), started_at: new Date(), trigger: '{}', context: '{}' };
        const entry = { trigger_key: randomUUID(), re_entry: 'always' };
        await sql`insert into journey_runs ${sql({ ...owner, ...known, ...started, ...entry, ...fields, seq, due_at })}`;
        if (has_timer) await sql`insert into journey_timers ${sql({ ...owner, due_at, seq })}`;
        if (awaits !== undefined) {
          const place = { partition: 0, log_id: 'log', from_offset: 5n, since: new Date() };
          const row = { ...owner, event: awaits, player_id: known.player_id, seq, ...place };
          await sql`insert into journey_waits ${sql(row)}`;
        }
        ids.push(owner.run_id);
      }
      return ids;
    },
    rowsOf: (table, journey_id) =>
      sql<Json[]>`
        select t.* from ${sql(table)} t join journey_runs r using (tenant_id, project_id, run_id)
        where r.journey_id = ${journey_id} order by run_id`,
  };
}

/** The codes and paths of an answer's issues, after having checked its status. */
export function issuesOf(answer: Answer): string[] {
  expect([answer.status, answer.body.error?.code], answer.text).toEqual([422, 'JOURNEY_GRAPH_INVALID']);
  const issues = answer.body.error.details['issues'] as { code: string; path: string }[];
  return issues.map(({ code, path }) => `${code} ${path}`);
}

/** The codes of a journey's warnings. */
export const warningsOf = (answer: Answer): string[] =>
  (answer.body.data['warnings'] as { code: string }[]).map(({ code }) => code);

/** When rows are due, in milliseconds, the first first. */
export const dueOf = (rows: readonly Json[]): number[] =>
  rows.map(({ due_at }) => (due_at as Date).getTime()).sort((a, b) => a - b);
