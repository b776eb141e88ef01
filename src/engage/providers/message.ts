import type { Channel } from '../../tenants/config/channels.ts';

/** A message as it leaves: rendered, and addressed to one recipient. */
export interface Message {
  channel: Channel;
  /** An address, a telephone number or a push token. */
  recipient: string;
  /** One line without control characters; null for SMS. */
  subject: string | null;
  preheader: string | null;
  /** HTML for email, text for the others. */
  body: string;
  /** Of push messages. */
  data: Readonly<Record<string, string>>;
  /** Further email headers, such as List-Unsubscribe. */
  headers: Readonly<Record<string, string>>;
  /** The send row; null for a test. Providers that can, carry it, so that their callbacks name it. */
  send_id: string | null;
}

/**
 * What became of an attempt. `rejected` and `retry` are certain: nothing went out. `unknown` may have gone out, so it
 * is never tried again.
 */
export type Outcome =
  | { kind: 'sent'; provider_message_id: string | null }
  /** The provider said no, for good: `PROVIDER_REJECTED`. `reason` is for the log, without personal data. */
  | { kind: 'rejected'; reason: string }
  /**
   * The provider cannot now (429, 5xx, no connection). `retry_after_ms`: what it asked for. `is_of_recipient`: only this
   * recipient has to wait, messages to others are taken.
   */
  | { kind: 'retry'; reason: string; retry_after_ms: number | null; is_of_recipient?: true }
  /** No answer after the request left: `OUTCOME_UNKNOWN`. */
  | { kind: 'unknown'; reason: string };

/** A provider ready to send: one per provider row, kept while the row stays the same. */
export interface Transport {
  /** How many messages it may be given at once. */
  concurrency: number;
  /** Hands over one message; never rejects. */
  send(message: Message): Promise<Outcome>;
  /** Hands over many at once, where that is cheaper; outcomes in the order of the messages; never rejects. */
  sendMany?(messages: readonly Message[]): Promise<Outcome[]>;
  close(): Promise<void>;
}
