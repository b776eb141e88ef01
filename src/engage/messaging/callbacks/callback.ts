import type { SendStatus } from '../../../analytics/message-status.ts';

/** What a provider can tell of a message. */
export type Step = Extract<SendStatus, 'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'failed'>;

/** Why an address gets nothing more. */
export type SuppressionReason = 'bounce' | 'complaint' | 'unsubscribe';

/** One thing that a provider told. Which message it is about is said by our id, else by the provider's. */
export interface Callback {
  send_id: string | null;
  provider_message_id: string | null;
  /** Lower case; null where the message's id alone names one. */
  address: string | null;
  /** Null: it says nothing of the message's way. */
  step: Step | null;
  suppression: SuppressionReason | null;
  at_ms: number;
}

/** What the app on a player's device told of a push to that player. */
export interface Receipt {
  project_id: string;
  player_id: string;
  send_id: string;
  step: Extract<Step, 'opened' | 'clicked'>;
  at_ms: number;
}
