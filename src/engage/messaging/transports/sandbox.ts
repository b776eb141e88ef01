import { keepMessages } from '../../providers/sandbox-queries.ts';
import type { ProviderRef } from '../../providers/queries.ts';
import type { Clock } from '../../../platform/clock.ts';
import { newId } from '../../../platform/ids.ts';
import type { Postgres } from '../../../platform/postgres/port.ts';
import type { Message, SendOutcome, Transport } from '../../providers/message.ts';

/** Three full batches: while one is stored, the next ones are claimed and rendered. */
const CONCURRENCY = 3_000;

/** Stores messages in Postgres, where the API shows them, instead of sending them. */
export function openSandbox(
  ref: ProviderRef,
  { postgres, clock }: { postgres: Postgres; clock: Clock },
): Transport {
  const sendMany = async (messages: readonly Message[]): Promise<SendOutcome[]> => {
    const kept = messages.map((message) => ({ ...message, message_id: newId() }));
    try {
      const ids = await keepMessages(postgres.service, ref, kept, new Date(clock.now_ms()));
      return ids.map((id) => ({ kind: 'sent', provider_message_id: id }));
    } catch {
      // It is unknown whether the messages were stored. A retry is safe, because a send is stored once.
      return messages.map(() => ({ kind: 'retry', reason: 'POSTGRES', retry_after_ms: null }));
    }
  };
  return {
    concurrency: CONCURRENCY,
    async send(message) {
      const [outcome] = await sendMany([message]);
      return outcome ?? { kind: 'unknown', reason: 'no outcome' };
    },
    sendMany,
    close: () => Promise.resolve(),
  };
}
