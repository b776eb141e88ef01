import { expect } from 'vitest';
import { waitUntilCaughtUp } from '../../src/analytics/caught-up.ts';
import type { TestService, TestTenant } from '../engines/service.ts';
import { sharedService } from '../engines/shared-service.ts';
import { call, internally, type Answer } from '../engines/http-client.ts';

export type Body = Record<string, unknown>;

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
  api: (method: string, path: string, body?: unknown, of?: TestTenant) => Promise<Answer>;
  make: (definition?: Body, rest?: Body, of?: TestTenant) => Promise<string>;
  /** Identifies a new player unless `ids` name one; returns its id. */
  person: (traits?: Body, ids?: Body, of?: TestTenant) => Promise<string>;
  recompute: (body: object) => Promise<Answer>;
  caughtUp: () => Promise<void>;
  sizeOf: (segment_id: string) => Promise<unknown>;
  segmentsOf: (player_id: string) => Promise<string[]>;
}

export async function openSegmentFixture(): Promise<SegmentFixture> {
  const service = await sharedService();
  const api: SegmentFixture['api'] = (method, path, body, of = service) =>
    call(service.base_url + path, of.session_token, { method, body });
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
      const body = { ...ids, traits };
      const answer = await call(`${service.base_url}/v1/players/identify`, of.api_key, { body });
      expect(answer.status, answer.text).toBe(200);
      return String(answer.data['player_id']);
    },
    recompute: (body) => internally(service, 'recompute-player-segments', body),
    caughtUp: () => waitUntilCaughtUp(service.platform, 30_000),
    sizeOf: async (id) => (await api('GET', `/v1/segments/${id}`)).data['estimated_size'],
    segmentsOf: async (id) => (await api('GET', `/v1/players/${id}`)).data['segment_ids'] as string[],
  };
}

export function expectRefused(answer: Answer, code: string, path?: string): void {
  const status = { SEGMENT_NOT_FOUND: 404, PLAYER_NOT_FOUND: 404, CONFLICT: 409 }[code] ?? 422;
  expect([answer.status, answer.code], answer.text).toEqual([status, code]);
  if (path !== undefined) {
    const paths = answer.error.details.issues.map((issue) => issue.path);
    expect(paths, answer.text).toContain(path);
  }
}
