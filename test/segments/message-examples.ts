import { and, DAY, HOUR, last, message, not, type Example } from './example-shapes.ts';

const SPRING = '00000000-0000-4000-8000-00000000005a';
const AUTUMN = '00000000-0000-4000-8000-00000000005b';

/** Conditions on messages. */
export const MESSAGE_EXAMPLES: readonly Example[] = [
  {
    title: 'message: sent, at any time',
    definition: and(message('sent')),
    in: {
      'just sent': { messages: [{ queued: 2, sent: 1 }] },
      'opened long ago': {
        messages: [{ queued: 900 * DAY, sent: 900 * DAY, opened: 899 * DAY, status: 'opened' }],
      },
      'sent, but it failed later': { messages: [{ queued: DAY, sent: DAY, status: 'failed' }] },
    },
    out: {
      'never written to': {},
      'by another channel': { messages: [{ channel: 'sms', queued: DAY, sent: DAY }] },
      skipped: { messages: [{ queued: DAY, status: 'failed' }] },
      'over a cap': { messages: [{ queued: DAY, status: 'capped' }] },
    },
  },
  {
    title: 'message: opened, of one campaign, in the last days',
    definition: and(message('opened', { campaign_id: SPRING, window: last(7) })),
    in: {
      'opened now': {
        messages: [{ campaign_id: SPRING, queued: 8 * DAY, sent: 8 * DAY, opened: 0, status: 'opened' }],
      },
      'opened, sent longer ago': {
        messages: [{ campaign_id: SPRING, queued: 90 * DAY, sent: 90 * DAY, opened: 7 * DAY - 1 }],
      },
      'clicked, and of the opening nothing is known': {
        messages: [{ campaign_id: SPRING, queued: 2 * DAY, sent: 2 * DAY, clicked: DAY, status: 'clicked' }],
      },
      'the second of two': {
        messages: [
          { campaign_id: SPRING, queued: 9 * DAY, sent: 9 * DAY, opened: 8 * DAY },
          { campaign_id: SPRING, queued: 2 * DAY, sent: 2 * DAY, opened: DAY },
        ],
      },
    },
    out: {
      'opened on the edge': {
        messages: [{ campaign_id: SPRING, queued: 8 * DAY, sent: 8 * DAY, opened: 7 * DAY }],
      },
      'opened long ago, clicked lately': {
        messages: [{ campaign_id: SPRING, queued: 9 * DAY, sent: 9 * DAY, opened: 8 * DAY, clicked: DAY }],
      },
      'of another campaign': {
        messages: [{ campaign_id: AUTUMN, queued: DAY, sent: DAY, opened: HOUR }],
      },
      'of no campaign': { messages: [{ queued: DAY, sent: DAY, opened: HOUR }] },
      'delivered only': {
        messages: [{ campaign_id: SPRING, queued: DAY, sent: DAY, delivered: DAY, status: 'delivered' }],
      },
    },
  },
  {
    title: 'message: delivered between two dates',
    definition: and(
      message('delivered', {
        channel: 'sms',
        window: { from: '2026-05-01T00:00:00Z', to: '2026-05-08T12:00:00Z' },
      }),
    ),
    in: {
      delivered: { messages: [{ channel: 'sms', queued: 9 * DAY, sent: 9 * DAY, delivered: 7 * DAY + 1 }] },
    },
    out: {
      'delivered at the end': {
        messages: [{ channel: 'sms', queued: 9 * DAY, sent: 9 * DAY, delivered: 7 * DAY }],
      },
      'sent only': { messages: [{ channel: 'sms', queued: 9 * DAY, sent: 9 * DAY }] },
    },
  },
  {
    title: 'message: bounced',
    definition: and(message('bounced')),
    in: { bounced: { messages: [{ queued: DAY, sent: DAY, bounced: HOUR, status: 'bounced' }] } },
    out: { delivered: { messages: [{ queued: DAY, sent: DAY, delivered: HOUR, status: 'delivered' }] } },
  },
  {
    title: 'message: failed today, by the time it was queued',
    definition: and(message('failed', { window: last(1) })),
    in: { skipped: { messages: [{ queued: HOUR, status: 'failed' }] } },
    out: {
      yesterday: { messages: [{ queued: DAY, status: 'failed' }] },
      'over a cap': { messages: [{ queued: HOUR, status: 'capped' }] },
      sent: { messages: [{ queued: HOUR, sent: HOUR }] },
    },
  },
  {
    title: 'message: sent but not clicked',
    definition: and(message('sent', { window: last(30) }), not(message('clicked', { window: last(30) }))),
    in: { sent: { messages: [{ queued: DAY, sent: DAY }] } },
    out: {
      clicked: { messages: [{ queued: DAY, sent: DAY, clicked: HOUR }] },
      'nothing sent': {},
    },
  },
];
