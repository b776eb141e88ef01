import type { CreateCampaignBody } from '@player-engagement/client/admin';
import type { Example } from '../../format/example.ts';
import { t } from '../../messages/t.ts';

const m = t.examples.campaigns;

/** Three campaigns to begin with, as drafts without audience and template. */
export const EXAMPLES: readonly Example<CreateCampaignBody>[] = [
  {
    ...m.winBack,
    body: {
      name: m.winBack.title,
      type: 'broadcast',
      channel: 'email',
      goal_event: 'deposit_confirmed',
      goal_attribution_days: 7,
      goal_value_property: 'amount',
    },
  },
  {
    ...m.thanks,
    body: { name: m.thanks.title, type: 'triggered', channel: 'email', trigger_event: 'deposit_confirmed' },
  },
  {
    ...m.push,
    body: { name: m.push.title, type: 'broadcast', channel: 'push', goal_event: 'bet_placed' },
  },
];
