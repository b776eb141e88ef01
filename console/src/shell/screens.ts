import { t } from '../messages/t.ts';

/** The screens in the order of the navigation; `letter` opens one after `g`. */
export const SCREENS = [
  { path: '/overview', name: t.nav.overview, letter: 'o' },
  { path: '/events', name: t.nav.events, letter: 'e' },
  { path: '/players', name: t.nav.players, letter: 'p' },
  { path: '/segments', name: t.nav.segments, letter: 's' },
  { path: '/campaigns', name: t.nav.campaigns, letter: 'c' },
  { path: '/journeys', name: t.nav.journeys, letter: 'j' },
  { path: '/templates', name: t.nav.templates, letter: 't' },
  { path: '/bonuses', name: t.nav.bonuses, letter: 'b' },
  { path: '/vip', name: t.nav.vip, letter: 'v' },
  { path: '/compliance', name: t.nav.compliance, letter: 'l' },
  { path: '/developers', name: t.nav.developers, letter: 'd' },
  { path: '/settings', name: t.nav.settings, letter: 'n' },
  { path: '/system', name: t.nav.system, letter: 'y' },
] as const;
