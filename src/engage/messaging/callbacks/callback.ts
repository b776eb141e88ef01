import type { Fault } from '../../providers/message.ts';
import type { SendStatus } from '../../../analytics/message-status.ts';

/** The statuses that a provider can report of a message. */
export type Step = Extract<SendStatus, 'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'failed'>;

/** Why an address is suppressed. */
export type SuppressionReason = 'bounce' | 'complaint' | 'unsubscribe';

/** One report of a provider. Its message is found by `send_id`, or else by `provider_message_id`. */
export interface Callback {
  send_id: string | null;
  provider_message_id: string | null;
  /** The recipient in lower case; null: the report has none, and provider_message_id alone identifies the message. */
  address: string | null;
  /** Null: the report does not change the message's status. */
  step: Step | null;
  suppression: SuppressionReason | null;
  /** The owner of the address wants messages again: an unsubscription from before is lifted. */
  lifts: boolean;
  /** A mail program fetched the message by itself: it was delivered, but no person opened it. */
  is_machine_open: boolean;
  /** The provider's code and text of a bounce or failure. */
  fault: Fault | null;
  at_ms: number;
}

/** What a player answered to a text message: that there shall be no more, or that messages are welcome again. */
export interface Reply {
  /** The player's number. */
  from: string;
  wants_messages: boolean;
  /** The provider's id of the reply. */
  message_id: string;
}

/** A report of the app on a player's device about a push to that player. */
export interface Receipt {
  project_id: string;
  player_id: string;
  send_id: string;
  step: Extract<Step, 'opened' | 'clicked'>;
  at_ms: number;
}
