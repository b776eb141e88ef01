import { t } from '../messages/t.ts';

/** The screens in the order of the navigation; `letter` opens one after `g`. */
export const SCREENS = [{ path: '/players', name: t.nav.players, letter: 'p' }] as const;
