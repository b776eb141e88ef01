import type { FoundRecord } from '@player-engagement/client/admin';
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
    insights: 'Insights',
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
    groups: {
      data: 'Data',
      audience: 'Audience',
      engagement: 'Engagement',
      administration: 'Administration',
    },
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
    placeholder: 'A name, an action, or the id, email or phone number of a player',
    nothing: 'Nothing found',
    keys: 'Arrows choose, Enter opens',
    kinds: { screen: 'Screen', action: 'Action', player: 'Player' },
    records: {
      segment: 'Segment',
      campaign: 'Campaign',
      journey: 'Journey',
      template: 'Template',
      bonus_template: 'Bonus template',
      bonus_campaign: 'Bonus campaign',
    } satisfies Record<FoundRecord['type'], string>,
    actions: {
      segment: 'New segment',
      campaign: 'New campaign',
      journey: 'New journey',
      template: 'New template',
      keys: 'Show the keys',
    },
  },
  help: {
    title: 'Keyboard',
    rows: [
      ['⌘ K / Ctrl K', 'Go to a screen, a record or a player, or begin something'],
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
    label: (title: string) => `${title}: arrow keys read the chart; “As table” shows the same figures`,
    said: (place: string, name: string, text: string, before: string | undefined) =>
      `${place}. ${name}: ${text}${before === undefined ? '' : `, before ${before}`}`,
    before: (name: string) => `${name}, before`,
    beforeIs: (text: string) => ` (before ${text})`,
    compared: 'Compared with',
    unfinished: 'Not over yet',
    goesOn: (label: string) => `${label} (not over yet)`,
    open: (name: string, place: string, text: string) => `${text}: the players of ${name}, ${place}`,
    none: (what: string) => `No ${what} in this period`,
    spark: (title: string, least: string, most: string, last: string) =>
      `${title}: between ${least} and ${most}, now ${last}`,
  },
};
