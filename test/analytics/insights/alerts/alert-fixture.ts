import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { alertEvaluator } from '../../../../src/analytics/insights/alerts/evaluate.ts';
import { SETTLE_MS } from '../../../../src/analytics/insights/due/evaluator.ts';
import { NoticeSender } from '../../../../src/analytics/insights/notices/sender.ts';
import { InsightRunner } from '../../../../src/analytics/insights/runner.ts';
import type { Platform } from '../../../../src/platform/platform.ts';
import type { Call } from '../../../engines/http-client.ts';
import type { Fixture, Tenant } from '../../../http/api-fixture.ts';

export const HOUR_MS = 3_600_000;
export const DEPOSITS = { kind: 'trend', series: [{ metric: 'deposits' }] };
export const NOTHING = { kind: 'threshold', op: 'lte', value: 0 };

/** A firing as the API shows it. */
export interface ShownFiring {
  from: string;
  to: string;
  value: unknown;
}

/** Alerts of a new tenant on an API host without processors, evaluated and sent by the test at times that it sets. */
export async function alertFixture(fixture: Fixture) {
  const { platform } = fixture;
  const tenant = await fixture.makeTenant();
  const user_id = `editor-${tenant.tenant_id}`;
  await fixture.internal('/v1/internal/memberships', {
    tenant_id: tenant.tenant_id,
    user_id,
    role: 'editor',
  });
  const api = (path: string, request?: Call, session = tenant.session) => fixture.as(session, path, request);
  const member = { kind: 'email', user_id, address: 'editor@operator.example' };
  return {
    tenant,
    user_id,
    member,
    api,
    async create(rest: object = {}): Promise<string> {
      const body = {
        name: 'No deposits',
        query: DEPOSITS,
        interval: 'hour',
        condition: NOTHING,
        receivers: [member],
        ...rest,
      };
      const { status, text, data } = await api('/v1/alerts', { method: 'POST', body });
      expect(status, text).toBe(201);
      return String(data['id']);
    },
    read: async (id: string) => (await api(`/v1/alerts/${id}`)).data,
    /** Events of deposits, straight into ClickHouse. */
    deposits: (deposits: readonly { at_ms: number; amount: number }[]) =>
      storeDeposits(platform, tenant, deposits),
    /** When the hour after this one, and so many more, is over and settled. */
    overIn: (hours: number, from_ms = Date.now()) =>
      (Math.floor(from_ms / HOUR_MS) + 1 + hours) * HOUR_MS + SETTLE_MS,
  };
}

function storeDeposits(
  { clickhouse }: Platform,
  { tenant_id, project_id }: Tenant,
  deposits: readonly { at_ms: number; amount: number }[],
): Promise<void> {
  const rows = deposits.map(({ at_ms, amount }) => ({
    tenant_id,
    project_id,
    event: 'deposit_confirmed',
    player_id: randomUUID(),
    occurred_at: at_ms,
    received_at: at_ms,
    ingestion_id: randomUUID(),
    event_index: 0,
    base_amount: amount,
    stake_counted: amount,
    payout_counted: 0,
    properties: '{}',
    revision: 1,
  }));
  return clickhouse.insertLines(
    'events',
    rows.map((row) => JSON.stringify(row)),
    randomUUID(),
  );
}

/** Evaluates once all alerts that are due at a time. */
export async function evaluateAt(
  platform: Platform,
  now_ms: number,
  more: { runner?: InsightRunner; caughtUp?: () => Promise<void>; stop?: AbortSignal } = {},
): Promise<void> {
  const deps = { ...platform, clock: { now_ms: () => now_ms } };
  const runner = more.runner ?? new InsightRunner(platform);
  const evaluator = alertEvaluator({
    ...deps,
    runner,
    caughtUp: more.caughtUp ?? (() => Promise.resolve()),
  });
  // An alert a turn of each tenant.
  while (await evaluator.turn(more.stop));
  await evaluator.close();
}

/** Sends once all notices that are due at a time. */
export async function sendAt({ platform, deps, config }: Fixture, now_ms: number): Promise<void> {
  const { credentials_keys } = deps;
  const { public_url } = config;
  const sender = new NoticeSender(
    { ...platform, clock: { now_ms: () => now_ms } },
    { credentials_keys, public_url },
  );
  while ((await sender.turn()) === true);
  await sender.close();
}
