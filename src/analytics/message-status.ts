/**
 * The statuses of a message that is no longer pending. `clicked` includes `opened`, and so on. A `capped` message was
 * never sent; a `failed` one was not sent, or its outcome is unknown.
 */
export const MESSAGE_STATUSES = [
  'sent',
  'delivered',
  'opened',
  'clicked',
  'bounced',
  'failed',
  'capped',
] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/**
 * The statuses of a send row in their order. A row never goes back in this order, with one exception: a message that
 * was not handed over, or is retried, goes from `sending` to `queued`.
 */
export const SEND_STATUSES = ['queued', 'sending', ...MESSAGE_STATUSES] as const;
export type SendStatus = (typeof SEND_STATUSES)[number];
