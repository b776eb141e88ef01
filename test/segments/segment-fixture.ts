import { expect } from 'vitest';
import { waitUntilCaughtUp } from '../../src/analytics/caught-up.ts';
import { startTestService, type TestService, type TestTenant } from '../engines/service.ts';
import { call, type Answer } from '../engines/http-client.ts';

export type Body = Record<string, unknown>;

/** One answer of the API, reduced to what segment tests read. */
export interface Outcome {
  status: number;
  code: string | undefined;
  text: string;
  data: Body;
  next_cursor: string | null;
  issues: { path: string; message: string }[];
}

export const UNKNOWN = '00000000-0000-4000-8000-000000000000';

export const group = (...conditions: Body[]) => ({ operator: 'AND', conditions });
export const trait = (field: string, op: string, value?: unknown) => ({
  type: 'trait',
  field,
  op,
  ...(value === undefined ? {} : { value }),
});
export const within = (segment_id: string, op = 'in') => ({ type: 'segment', segment_id, op });
export const everybody = group({ type: 'random', percent: 100, salt: 'everybody' });

/** The whole service with helpers for segment tests. The last parameter names a tenant other than the first. */
export interface SegmentFixture {
  service: TestService;
  api: (method: string, path: string, body?: unknown, of?: TestTenant) => Promise<Outcome>;
  make: (definition?: Body, rest?: Body, of?: TestTenant) => Promise<string>;
  /** Identifies a new player unless `ids` name one; returns its id. */
  person: (traits?: Body, ids?: Body, of?: TestTenant) => Promise<string>;
  recompute: (body: unknown) => Promise<Answer>;
  caughtUp: () => Promise<void>;
  sizeOf: (segment_id: string) => Promise<unknown>;
  segmentsOf: (player_id: string) => Promise<string[]>;
}

export async function openSegmentFixture(): Promise<SegmentFixture> {
  const service = await startTestService();
  const api: SegmentFixture['api'] = async (method, path, body, of = service) => {
    const sending = body === undefined ? { method } : { method, body };
    const { status, text, body: answer } = await call(service.base_url + path, of.session_token, sending);
    const error: { code: string; details?: { issues?: Outcome['issues'] } } | undefined = answer.error;
    return {
      status,
      text,
      code: error?.code,
      data: answer.data as Body,
      next_cursor: answer.meta?.next_cursor ?? null,
      issues: error?.details?.issues ?? [],
    };
  };
  let people = 0;
  return {
    service,
    api,
    async make(definition = everybody, rest = {}, of = service) {
      const body = { name: 'a segment', definition, ...rest };
      const { status, text, data } = await api('POST', '/v1/segments', body, of);
      expect(status, text).toBe(201);
      return String(data['id']);
    },
    async person(traits = {}, ids = { external_id: `person-${++people}` }, of = service) {
      const sending = { method: 'POST', body: { ...ids, traits } };
      const url = `${service.base_url}/v1/players/identify`;
      const { status, text, body } = await call(url, of.api_key, sending);
      expect(status, text).toBe(200);
      return (body.data as { player_id: string }).player_id;
    },
    recompute(body) {
      const headers = { 'x-internal-secret': service.internal_secret };
      const url = `${service.base_url}/v1/internal/recompute-player-segments`;
      return call(url, undefined, { method: 'POST', body, headers });
    },
    caughtUp: () => waitUntilCaughtUp(service.platform, 30_000),
    sizeOf: async (id) => (await api('GET', `/v1/segments/${id}`)).data['estimated_size'],
    segmentsOf: async (id) => (await api('GET', `/v1/players/${id}`)).data['segment_ids'] as string[],
  };
}

export function expectRefused(answer: Outcome, code: string, path?: string): void {
  const status = { SEGMENT_NOT_FOUND: 404, PLAYER_NOT_FOUND: 404, CONFLICT: 409 }[code] ?? 422;
  expect([answer.status, answer.code], answer.text).toEqual([status, code]);
  if (path !== undefined) {
    const paths = answer.issues.map((issue) => issue.path);
    expect(paths, answer.text).toContain(path);
  }
}
