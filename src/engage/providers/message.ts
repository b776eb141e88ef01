import type { Channel } from '../../tenants/config/channels.ts';

/** A picture in the HTML of an email, which names it as `cid:`. */
export interface Picture {
  cid: string;
  /** PNG in base64. */
  png: string;
}

/** A rendered message to one recipient, as a transport gets it. */
export interface Message {
  channel: Channel;
  /** An address, a telephone number or a push token. */
  recipient: string;
  /** One line without control characters; null for SMS. */
  subject: string | null;
  preheader: string | null;
  /** HTML for email, text for the others. */
  body: string;
  /** For email: the same as text, for readers that show no HTML; null for the others. */
  text: string | null;
  /** For push messages: their data. */
  data: Readonly<Record<string, string>>;
  /** Further email headers, such as List-Unsubscribe. */
  headers: Readonly<Record<string, string>>;
  /** For email: the pictures that its HTML names; absent: none. */
  pictures?: readonly Picture[];
  /**
   * The send row; null for a test. A transport passes it to the provider where possible, so that callbacks contain it.
   */
  send_id: string | null;
}

/** The provider's own code and text of a failure, as it is stored with the message; the text may quote addresses. */
export interface Fault {
  code: string | null;
  text: string | null;
}

/** Why the address of a refused message is suppressed: nothing can reach it, or its owner wants no messages. */
export type Suppression = 'bounce' | 'unsubscribe';

/**
 * The outcome of an attempt. After `rejected` and `retry` the message certainly did not go out. After `unknown` it may
 * have gone out, so it is never tried again.
 */
export type SendOutcome =
  | { kind: 'sent'; provider_message_id: string | null }
  /**
   * The provider refused permanently: `PROVIDER_REJECTED`. `reason` is for the log, without personal data.
   * `suppresses`: the recipient's address is suppressed for this reason.
   */
  | { kind: 'rejected'; reason: string; suppresses?: Suppression; fault?: Fault }
  /**
   * The provider is unavailable (429, 5xx, no connection, or its address is not public at present). `retry_after_ms`: the pause that it asked for.
   * `is_of_recipient`: the retry concerns this recipient only; the provider accepts messages to others.
   * `is_of_credentials`: the provider refuses the credentials, and no message is at fault; there is no pause to ask for.
   */
  | {
      kind: 'retry';
      reason: string;
      retry_after_ms: number | null;
      is_of_recipient?: true;
      is_of_credentials?: true;
      fault?: Fault;
    }
  /** No answer after the request left, or one that leaves it open whether the message went out: `OUTCOME_UNKNOWN`. */
  | { kind: 'unknown'; reason: string; fault?: Fault };

/** A provider ready to send; it is kept as long as the provider's row does not change. */
export interface Transport {
  /** How many messages the provider works on at once, over all campaigns: each begins as soon as it is given. */
  concurrency: number;
  /** Hands over one message; never rejects. */
  send(message: Message): Promise<SendOutcome>;
  /** Hands over many at once, where that is cheaper; outcomes in the order of the messages; never rejects. */
  sendMany?(messages: readonly Message[]): Promise<SendOutcome[]>;
  close(): Promise<void>;
}
