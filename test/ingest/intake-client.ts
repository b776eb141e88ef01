import { expect } from 'vitest';
import { call, type Answer, type Call } from '../engines/http-client.ts';
import type { TestService } from '../engines/service.ts';

/** Sends one request as JSON with the service's API key; headers given as undefined are left out. */
export const send = (
  url: string,
  api_key: string,
  { method = 'POST', headers, ...sent }: Call,
): Promise<Answer> =>
  call(url, api_key, { method, headers: { 'content-type': 'application/json', ...headers }, ...sent });

/** Expects this error in the error envelope. */
export function expectError(answer: Answer, status: number, code: string, message?: RegExp): void {
  expect(answer, answer.text.slice(0, 300)).toMatchObject({ status, body: { error: { code } } });
  expectEnvelope(answer);
  if (message !== undefined) expect(answer.body.error?.message).toMatch(message);
}

/** Expects an answer in one of the two envelopes of the specification, with a status below 500. */
export function expectEnvelope({ status, body, text, headers }: Answer): void {
  expect(status, text.slice(0, 300)).toBeLessThan(500);
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  if (status < 400) {
    expect(Object.keys(body).filter((key) => key !== 'meta')).toEqual(['data']);
    return;
  }
  expect(Object.keys(body)).toEqual(['error']);
  expect(typeof body.error?.code).toBe('string');
  expect(body.error?.message).toMatch(/\S/);
  expect(
    Object.keys(body.error ?? {}).filter((key) => !['code', 'message', 'details'].includes(key)),
  ).toEqual([]);
}

/** The sum of the end offsets of the topic of accepted events: it grows only when an event is accepted. */
export async function acceptedSoFar({ platform }: TestService): Promise<bigint> {
  const ends = await platform.eventLog.endOffsets('events');
  return [...ends.values()].reduce((sum, end) => sum + end, 0n);
}
