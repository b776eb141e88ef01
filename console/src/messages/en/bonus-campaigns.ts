import { counted } from './shell.ts';

type Names = Readonly<Record<string, string>>;

/** Texts of the campaigns that grant bonuses. */
export const bonus_campaigns = {
  loading: 'bonus campaigns',
  one: 'Bonus campaign',
  new: 'New campaign',
  create: 'Create draft',
  none: 'No bonus campaigns yet',
  noneHelp: 'A bonus campaign grants a template to the members of a segment, within a budget.',
  noMatch: 'No campaign matches',
  statuses: {
    draft: 'Draft',
    scheduled: 'Scheduled',
    issuing: 'Being issued',
    issued: 'Issued',
    paused: 'Paused',
    cancelled: 'Cancelled',
  } as Names,
  fields: {
    name: 'Name',
    template_id: 'Bonus template',
    segment_id: 'Segment',
    currency_override: 'Currency of the bonuses',
    deposit_from: 'Deposit',
    deposit_amount: 'Fixed deposit for all',
    max_liability: 'Budget',
    max_grants: 'Maximum bonuses',
    holdout_percent: 'Held out (percent)',
    rate_per_second: 'Bonuses per second',
    qualifying_product: 'Qualifying product',
    advertising: 'Advertising',
  } as Names,
  noTemplate: 'Choose a template',
  noSegment: 'Choose a segment',
  ownCurrency: 'As the template says',
  deposits: {
    '': 'The same for all',
    last_deposit: 'The last one of each, within 24 hours',
  } as Names,
  depositHint: 'The bonus is a percentage of it',
  budgetHint: 'Maximum cost of all bonuses; empty: no limit',
  noProduct: 'As the segment says',
  advertising: {
    direct: 'To the players themselves',
    own_site: 'On your own site',
    public: 'In public',
  } as Names,
  scheduleAt: (zone: string) => `Issue it at (${zone})`,
  scheduleHint: 'Empty: when somebody presses “Issue”',
  granted: 'Granted',
  budget: 'Budget',
  when: 'Issued or due',
  problem: 'Problem',
  failed: 'It could not be issued',
  members: 'Members',
  issuedAt: 'Issued',
  finishedAt: 'Finished',
  itsGrants: 'Its grants',
  stats: { granted: 'Granted', pending: 'Pending', skipped: 'Skipped', failed: 'Failed' },
  costTitle: 'Budget and liability',
  cost: {
    granted_base: 'Total granted',
    open_base: 'Liability: still running',
    released_base: 'Paid out',
    ended_unreleased_base: 'Ended without a payment',
  },
  spent: (granted: string, limit: string, share: string) => `${granted} of ${limit} (${share}) is granted.`,
  share: (share: string) => `${share} of the budget`,
  skipped: 'Skipped, by reason',
  noSkips: 'Nobody was skipped.',
  why: 'Why',
  code: 'Code',
  skips: {
    ALREADY_GRANTED: 'Has had the bonus as often as the template allows, or has one of its group',
    BUDGET: 'The budget or the number of bonuses was used up',
    NO_DEPOSIT: 'Has no deposit that the bonus could follow from',
    CANCELLED: 'The campaign was cancelled before, or the player is gone',
  } as Names,
  issue: {
    button: 'Issue…',
    title: (name: string) => `Issue “${name}”?`,
    verb: (count: number) => `Grant ${counted(count, 'bonus', 'bonuses')}`,
    counting: 'what it would do',
    text: (count: number, cost: string) =>
      `${counted(count, 'player gets', 'players get')} a bonus, for ${cost} in all. Each player is looked at again then.`,
    would: 'Eligible players',
    cost: 'Cost',
  },
  moves: {
    paused: {
      button: 'Pause',
      title: (name: string) => `Pause “${name}”?`,
      text: (granted: number, pending: number) =>
        `${counted(granted, 'bonus is', 'bonuses are')} granted; ${counted(pending, 'member waits', 'members wait')} until it goes on.`,
    },
    issuing: {
      button: 'Resume',
      title: (name: string) => `Resume “${name}”?`,
      text: (granted: number, pending: number) =>
        `${counted(granted, 'bonus is', 'bonuses are')} granted; ${counted(pending, 'member is', 'members are')} still to come.`,
    },
    cancelled: {
      button: 'Cancel the campaign',
      title: (name: string) => `Cancel “${name}”?`,
      text: (granted: number, pending: number) =>
        `${counted(pending, 'member gets', 'members get')} nothing. ${counted(granted, 'bonus that is granted stays', 'bonuses that are granted stay')}. It cannot go on again.`,
    },
  },
};
