import { expect } from 'vitest';
import type { TestService } from '../engines/service.ts';

/** An answer of either host: status, text, parsed body and headers. */
export interface IntakeAnswer {
  status: number;
  text: string;
  body: {
    data?: Record<string, unknown>;
    error?: { code: string; message: string; details?: { issues?: { path: string; message: string }[] } };
  };
  headers: Headers;
}

interface Sending {
  body?: unknown;
  /** Sent unchanged, instead of `body`. */
  raw?: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string | undefined>;
  method?: string;
}

/** Sends one request with the service's API key; headers given as undefined are left out. */
export async function send(
  url: string,
  api_key: string,
  { body, raw, headers = {}, method = 'POST' }: Sending,
): Promise<IntakeAnswer> {
  const all = { authorization: `Bearer ${api_key}`, 'content-type': 'application/json', ...headers };
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const payload = raw ?? (body === undefined ? null : JSON.stringify(body));
  // Sent as bytes, because fetch sets its own content type for text.
  const bytes = typeof payload === 'string' ? new TextEncoder().encode(payload) : payload;
  const response = await fetch(url, { method, headers: given, body: bytes });
  const text = await response.text();
  return {
    status: response.status,
    text,
    body: JSON.parse(text) as IntakeAnswer['body'],
    headers: response.headers,
  };
}

/** Expects this error in the error envelope. */
export function expectError(answer: IntakeAnswer, status: number, code: string, message?: RegExp): void {
  expect(answer, answer.text.slice(0, 300)).toMatchObject({ status, body: { error: { code } } });
  expectEnvelope(answer);
  if (message !== undefined) expect(answer.body.error?.message).toMatch(message);
}

/** Expects an answer in one of the two envelopes of the specification, with a status below 500. */
export function expectEnvelope({ status, body, text, headers }: IntakeAnswer): void {
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
