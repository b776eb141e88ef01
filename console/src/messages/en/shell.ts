import { formatInt } from '../../format/number.ts';

const plural = new Intl.PluralRules('en');

/** `1 row`, `2 rows`. */
export function counted(count: number | bigint, one: string, many: string): string {
  return `${formatInt(count)} ${plural.select(Number(count)) === 'one' ? one : many}`;
}

export const shell = {
  nav: {
    label: 'Screens',
    overview: 'Overview',
    events: 'Events',
    players: 'Players',
    segments: 'Segments',
    campaigns: 'Campaigns',
    journeys: 'Journeys',
    templates: 'Templates',
    bonuses: 'Bonuses',
    vip: 'VIP',
    compliance: 'Compliance',
    developers: 'Developers',
    settings: 'Settings',
    system: 'System',
    skip: 'Skip to the content',
    collapse: 'Hide or show the names of the screens',
  },
  header: {
    project: 'Project',
    zone: 'Time zone',
    zones: {
      utc: () => 'UTC',
      operator: (name: string) => `Operator: ${name}`,
      browser: (name: string) => `This computer: ${name}`,
    },
    user: 'User and display',
    signedInAs: (user: string, role: string) => `${user} (${role})`,
    signOut: 'Sign out',
    themes: { system: 'Colours as the system', light: 'Light', dark: 'Dark' },
    shortcutsOn: 'Single-key shortcuts',
    environments: {
      prod: 'Production: what you do here reaches players',
      stag: 'Staging',
      dev: 'Development',
    },
    search: 'Go to…',
    offline:
      'You are offline. The data may be old, and changes cannot be saved. Your text stays on this page.',
  },
  palette: {
    title: 'Go to',
    placeholder: 'A screen, or the id, email or phone number of a player',
    nothing: 'Nothing found',
    players: (query: string) => `Find players: ${query}`,
    keys: 'Arrows choose, Enter opens',
  },
  help: {
    title: 'Keyboard',
    rows: [
      ['⌘ K / Ctrl K', 'Go to a screen or a player'],
      ['/', 'Search on this page'],
      ['j, k, ↓, ↑', 'Next and previous row'],
      ['Enter, e', 'Open the row'],
      ['?', 'This list'],
      ['Escape', 'Close what is open'],
    ] as const,
    screen: (letter: string) => `g, then ${letter}`,
    note: 'Keys without ⌘ or Ctrl can be switched off in the menu of the user.',
  },
  signIn: {
    title: 'Sign in',
    checking: 'Checking your session…',
    provider: 'Sign in with your company account',
    development:
      'This service runs for development. Open the link that it printed when it started, or make another with “npm run provision -- sign-in”. A link signs in once.',
    continues: 'Open it in another tab of this browser. This page then continues.',
    ended: 'Your session has ended. Your text is still here: sign in to continue.',
    again: 'Sign in again',
    none: 'No identity provider is configured, and this is not the service’s own machine. Ask an administrator of the service.',
    noPlace: 'You are signed in, but you are not a member of any operator. Ask an owner to invite you.',
    refused: 'The sign-in was refused.',
  },
  invitations: {
    title: (operator: string) => `Invitation of ${operator}`,
    says: (operator: string, role: string) => `${operator} invites you as a member (${role}).`,
    accept: 'Accept',
    decline: 'Decline',
  },
  states: {
    loading: (what: string) => `Loading ${what}…`,
    retry: 'Try again',
    requestId: 'Request id',
    stale: (age: string) => `This is from ${age}; it could not be updated.`,
    longAgo: 'more than a day ago',
    call: 'the call',
    crashed: 'This part of the page failed. The rest works.',
    noScreen: 'There is no such screen.',
  },
  copy: { label: (what: string) => `Copy ${what}`, copied: 'Copied', refused: 'The browser refused to copy' },
  dialog: { close: 'Close' },
  grid: {
    shown: (count: number, more: boolean) =>
      `${counted(count, 'row', 'rows')}${more ? ', there are more' : ''}`,
    more: 'Load more',
    loadingMore: 'Loading…',
  },
  chart: {
    when: 'Time',
    asTable: 'As table',
    asChart: 'As chart',
    csv: 'CSV',
    label: (title: string) => `${title}, a bar chart; "As table" shows the same figures`,
    spark: (title: string, least: string, most: string, last: string) =>
      `${title}: between ${least} and ${most}, now ${last}`,
  },
};
