/** What became of a message that waits no more: who clicked has opened, and so on; `failed` and `capped` were never sent. */
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

/** The states of a send row, in the order in which it may go through them; never back. */
export const SEND_STATUSES = ['queued', 'sending', ...MESSAGE_STATUSES] as const;
export type SendStatus = (typeof SEND_STATUSES)[number];
