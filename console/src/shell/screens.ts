import { t } from '../messages/t.ts';

/** The screens in the groups and the order of the navigation; `letter` opens one after `g`. */
export const GROUPS = [
  {
    name: t.nav.groups.data,
    screens: [
      { path: '/overview', name: t.nav.overview, letter: 'o', icon: 'overview' },
      { path: '/insights', name: t.nav.insights, letter: 'i', icon: 'insights' },
      { path: '/events', name: t.nav.events, letter: 'e', icon: 'events' },
    ],
  },
  {
    name: t.nav.groups.audience,
    screens: [
      { path: '/players', name: t.nav.players, letter: 'p', icon: 'players' },
      { path: '/segments', name: t.nav.segments, letter: 's', icon: 'segments' },
      { path: '/vip', name: t.nav.vip, letter: 'v', icon: 'vip' },
    ],
  },
  {
    name: t.nav.groups.engagement,
    screens: [
      { path: '/campaigns', name: t.nav.campaigns, letter: 'c', icon: 'campaigns' },
      { path: '/journeys', name: t.nav.journeys, letter: 'j', icon: 'journeys' },
      { path: '/templates', name: t.nav.templates, letter: 't', icon: 'templates' },
      { path: '/bonuses', name: t.nav.bonuses, letter: 'b', icon: 'bonuses' },
    ],
  },
  {
    name: t.nav.groups.administration,
    screens: [
      { path: '/compliance', name: t.nav.compliance, letter: 'l', icon: 'shield' },
      { path: '/developers', name: t.nav.developers, letter: 'd', icon: 'developers' },
      { path: '/settings', name: t.nav.settings, letter: 'n', icon: 'settings' },
      { path: '/system', name: t.nav.system, letter: 'y', icon: 'system' },
    ],
  },
] as const;

/** The screens of all groups. */
export const SCREENS = GROUPS.flatMap(({ screens }): readonly (typeof screens)[number][] => screens);
