import { definitionOf } from '../../ingest/events/catalogue.ts';

const OWN = new Set(['login', 'session_start', 'session_end', 'page_view', 'click']);
const GROUPS = new Set(['Deposits', 'Withdrawals', 'Casino wagering', 'Sportsbook (two-phase)']);

/** Whether the event is the player's own activity (`bonuses.md` 7): opening our mail, KYC and responsible gaming are not. */
export function isActivity(event: string): boolean {
  return OWN.has(event) || GROUPS.has(definitionOf(event)?.group ?? '');
}
