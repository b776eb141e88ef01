import { counted } from './shell.ts';

type Names = Readonly<Record<string, string>>;

/** Texts of the tab that says what a campaign, journey or bonus campaign has added. */
export const effect = {
  title: 'Effect',
  loading: 'the effect',
  none: 'Nobody is held out',
  noneHelp:
    'What is added can be measured only against players who get nothing. Set a holdout before the next start.',
  treated: 'Those who got it',
  /** Names of groups by what the API calls them. */
  arms: { own_hour: 'At their own hour' } as Names,
  compare: 'Compare',
  compared: { holdout: 'With those held out', send_time: 'Own hours with at once' },
  /** The group that the others are compared with. */
  base: { holdout: 'Held out', send_time: 'At once' },
  /** `who` is a variant, `by` a difference such as “+2.1 points”. */
  more: (who: string, by: string) => `${who}: ${by}, more than without.`,
  less: (who: string, by: string) => `${who}: ${by}, less than without.`,
  silent: (who: string, why: string) => `${who}: ${why}`,
  reasons: {
    window_open: 'no verdict yet: the time in which players are counted is not over.',
    uneven_arms:
      'no verdict: the groups are not as large as they were drawn, so something else chose the players.',
    few_conversions: 'no verdict: fewer than 30 players of both groups together did it.',
    skewed: 'no verdict: a few players decide about the money, and the groups are too small for that.',
    no_players: 'no verdict: a group has nobody.',
    no_difference_shown: 'no difference is shown.',
  } as Names,
  worse: (who: string, harm: string) => `${who}: more ${harm} than without.`,
  points: (signed: string) => `${signed} points`,
  perPlayer: (signed: string) => `${signed} per player`,
  groups: 'Groups',
  columns: {
    group: 'Group',
    players: 'Players',
    conversions: (goal: string) => `With ${goal}`,
    rate: 'Share',
    ngr: 'NGR',
    perPlayer: 'NGR per player',
  },
  differences: {
    holdout: 'Differences to those held out',
    send_time: 'Differences to those who got it at once',
  },
  difference: 'Difference',
  figure: 'Figure',
  interval: '95 % interval',
  p: 'p',
  between: (low: string, high: string) => `${low} to ${high}`,
  figures: {
    rate: 'Share of players',
    money: 'NGR per player',
    cut: 'The same, with the highest values cut',
    return: 'NGR of all of them',
  },
  restsOn: (players: number) =>
    `Without the highest values the sign changes: the difference rests on ${counted(players, 'player', 'players')}.`,
  harm: 'Harm',
  harms: {
    exclusions: 'self-exclusions',
    limits_reached: 'limits reached',
    cooldowns: 'breaks',
  },
  isWorse: 'Worse',
  about: (days: number, before: number) =>
    `Everybody who was drawn is counted for ${counted(days, 'day', 'days')} from the draw on, and compared with the ${before} days before it.`,
  deductions: (names: readonly string[]) => `NGR is less ${names.join(', ')}.`,
  asOf: 'As of',
  closes: 'Last window ends',
  final: 'Final: this stays.',
  planned: { holdout: 'Held out (planned)', send_time: 'At once (planned)' },
  holdoutPercent: 'Held out (percent)',
  holdoutHint: 'They get nothing, so that the effect can be measured',
  waiting: 'Not counted yet',
  inTwoArms: 'In two groups, not counted',
};
