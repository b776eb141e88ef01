import { counted } from './shell.ts';

/** Texts of the tab that tests a segment on the past. */
export const backtest = {
  title: 'Backtest',
  loading: 'the backtest',
  help: 'Who would have been in this segment at an earlier time, and what these players did in the days after it. Nothing is changed.',
  asOf: 'As of',
  asOfHint: (days: number, zone: string) =>
    `The first moment of this day by the clocks of ${zone}, at most ${days} days ago`,
  days: 'Days after it',
  daysHint: (most: number) => `From 1 to ${most}`,
  run: 'Test on the past',
  found: (members: number) =>
    `${counted(members, 'player', 'players')} would have been ${members === 1 ? 'a member' : 'members'}.`,
  nobody: 'Nobody would have been in this segment',
  nobodyHelp: 'Choose a later day, or change the definition.',
  result: 'Result',
  members: 'Members then',
  rate: (days: number) => `Deposited in the ${counted(days, 'day', 'days')} after it`,
  ofMembers: (share: string, count: string, members: string) => `${share} (${count} of ${members})`,
  perHead: 'NGR per member',
  ngr: 'NGR of all of them',
  tested: 'As of',
  ends: 'The days end',
  notOver:
    'The days after it are not over, so there are no figures of them yet. Choose an earlier day or fewer days.',
  effect: 'Smallest visible effect',
  effectHelp:
    'A campaign to these members could show a difference from this size on, in the share of members who deposit (5 % false alarms, found in 80 of 100 cases).',
  heldOut: (percent: string) => `With ${percent} held out`,
  noEffect: 'No difference could be shown: there are too few members, or all or none of them deposited.',
  now: 'Read as it is today',
  nowHelp:
    'Of these parts of the definition only the present is known. So players count by what they are today, not by what they were then:',
  list: 'the list of a frozen segment',
  nowHint: 'Conditions on events and on totals are read as they were.',
  allThen: 'All conditions are read as they were.',
  how: 'How it is counted',
  howText: [
    'Events count as they were known: those that had been received by then.',
    'A void, a reversal or an exchange rate that came later is in the figures.',
    'Other segments that the definition names are tested for the same time, by their present definitions.',
    'Players who were merged since are one player. Players who were erased since are missing.',
  ],
};
