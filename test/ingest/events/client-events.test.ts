import { expect, it } from 'vitest';
import { maySend } from '../../../src/ingest/events/client-events.ts';
import { findEventProblem } from '../../../src/ingest/events/validate.ts';

const context = { now_ms: 0, hasCurrency: () => true };

it('the refusal of an event of a client key says how to send it, and what such a key may send', () => {
  const event = { event: 'deposit_confirmed', anonymous_id: 'visitor' };
  const { message = '' } = findEventProblem(event, { ...context, kind: 'client' }) ?? {};
  expect(message).toBe(
    'a client key may not send deposit_confirmed: send it from a backend with a server key; ' +
      'a client key may send page_view, click, session_start, session_end, push_opened, push_clicked and custom_*',
  );
  const named = message.split('may send ')[1]?.match(/\w+_?\w+/g) ?? [];
  for (const name of named.filter((one) => one !== 'and')) expect(maySend('client', name)).toBe(true);
});

it('the refusal of an unknown event says where the names are', () => {
  const problem = findEventProblem({ event: 'deposit', anonymous_id: 'visitor' }, context);
  expect(problem?.message).toContain('Developers › Event catalogue');
});
