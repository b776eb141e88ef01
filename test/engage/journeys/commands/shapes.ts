/** A node as the model reads it; what the service needs beside is added when it is written. */
export type PlainNode = { id: string } & (
  | { type: 'wait'; duration_ms: number; next: string }
  | { type: 'wait_for_event'; timeout_ms: number; next: string; timeout_next: string }
  | { type: 'send_message'; next: string }
  | { type: 'update_player'; mark: string; next: string }
  | { type: 'call_webhook'; awaits_answer: boolean; next: string }
  | { type: 'end' }
);

const MINUTE_MS = 60_000;

/** How long a run waits at most for the answer to a webhook of one attempt of 10 s. */
export const ANSWER_MS = 10_000 + 10 * MINUTE_MS;

/** A graph: the first node is its start. */
export type Shape = readonly PlainNode[];

const wait = (id: string, minutes: number, next: string): PlainNode => ({
  id,
  type: 'wait',
  duration_ms: minutes * MINUTE_MS,
  next,
});
const ask = (id: string, minutes: number, next: string, timeout_next: string): PlainNode => ({
  id,
  type: 'wait_for_event',
  timeout_ms: minutes * MINUTE_MS,
  next,
  timeout_next,
});
const send = (id: string, next: string): PlainNode => ({ id, type: 'send_message', next });
const call = (id: string, next: string, awaits_answer = false): PlainNode => ({
  id,
  type: 'call_webhook',
  awaits_answer,
  next,
});
const mark = (id: string, text: string, next: string): PlainNode => ({
  id,
  type: 'update_player',
  mark: text,
  next,
});
const end: PlainNode = { id: 'end', type: 'end' };

/**
 * What versions of the journey are. Some nodes are in all of them with other durations, some are in one alone. A run that
 * was woken by an event comes to a rest before it ends, so that it does not matter whether a run that begins by the same
 * event begins before.
 */
export const SHAPES: readonly Shape[] = [
  [
    send('hello', 'w'),
    wait('w', 60, 'crm'),
    call('crm', 'ask', true),
    ask('ask', 120, 'mark', 'late'),
    mark('mark', 'first', 'again'),
    ask('again', 60, 'call', 'call'),
    call('call', 'w2'),
    wait('w2', 30, 'end'),
    send('late', 'end'),
    end,
  ],
  [
    wait('w', 90, 'ask'),
    ask('ask', 30, 'late', 'call'),
    send('late', 'w3'),
    wait('w3', 20, 'mark'),
    mark('mark', 'second', 'end'),
    call('call', 'end'),
    end,
  ],
  [
    ask('ask', 45, 'mark', 'hello'),
    mark('mark', 'third', 'crm'),
    call('crm', 'call', true),
    call('call', 'w2'),
    wait('w2', 10, 'hello'),
    send('hello', 'w'),
    wait('w', 5, 'end'),
    end,
  ],
];
