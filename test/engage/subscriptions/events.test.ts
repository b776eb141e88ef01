import { expect, it } from 'vitest';
import {
  eventIdOf,
  isWanted,
  payloadOf,
  SUBSCRIBED_EVENTS,
} from '../../../src/engage/subscriptions/events.ts';
import { stateOf } from '../../../src/engage/subscriptions/subscription-json.ts';

const S = '0199c0de-0000-7000-8000-000000000001';
const T = '0199c0de-0000-7000-8000-000000000002';

it('a subscription is sent the events that it names, and segments narrow those of segments only', () => {
  const of = (segment_id: string) => ({ event: 'segment.entered' as const, data: { segment_id } });
  const sent = { event: 'message.sent' as const, data: {} };
  const all = { events: [...SUBSCRIBED_EVENTS], segment_ids: null };
  expect(isWanted(all, of(S))).toBe(true);
  expect(isWanted({ ...all, events: ['segment.left'] }, of(S))).toBe(false);
  expect(isWanted({ ...all, segment_ids: [T] }, of(S))).toBe(false);
  expect(isWanted({ ...all, segment_ids: [S, T] }, of(S))).toBe(true);
  expect(isWanted({ ...all, segment_ids: [T] }, sent)).toBe(true);
});

it('the id of an event follows from subscription, fact and player alone', () => {
  const id = eventIdOf(S, { fact_key: 'tier 7' }, T);
  expect(id).toBe(eventIdOf(S, { fact_key: 'tier 7' }, T));
  expect(
    new Set([id, eventIdOf(T, { fact_key: 'tier 7' }, T), eventIdOf(S, { fact_key: 'tier 8' }, T)]).size,
  ).toBe(3);
  expect(eventIdOf(S, { fact_key: 'tier 7' }, S)).not.toBe(id);
});

it('a body has ids and codes, and numbers with all their digits', () => {
  const body = payloadOf({
    event: 'tier.changed',
    event_id: S,
    tenant_id: S,
    project_id: T,
    subscription_id: T,
    sequence: 9_007_199_254_740_993n,
    occurred_at: new Date('2026-01-02T03:04:05.678Z'),
    player: { id: S, external_id: 'ext-1' },
    data: { from_code: null, to_code: 'gold', trigger: 'auto' },
  });
  expect(body).toBe(
    `{"event":"tier.changed","event_id":"${S}","ts":"2026-01-02T03:04:05.678Z","tenant_id":"${S}","project_id":"${T}",` +
      `"subscription_id":"${T}","sequence":9007199254740993,"player":{"id":"${S}","external_id":"ext-1"},` +
      '"data":{"from_code":null,"to_code":"gold","trigger":"auto"}}',
  );
});

it('the state says first what somebody has to do', () => {
  const of = (status: 'active' | 'paused', is_failing: boolean, pending: number) =>
    stateOf({ status, is_failing, pending });
  expect(of('paused', true, 5)).toBe('paused');
  expect(of('active', true, 5)).toBe('failing');
  expect(of('active', false, 5)).toBe('delivering');
  expect(of('active', false, 0)).toBe('idle');
});
