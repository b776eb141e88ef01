import type { ApiKeyKind } from '../../http/auth/queries.ts';
import { CUSTOM_PREFIX } from './catalogue.ts';

const OF_CLIENTS: ReadonlySet<string> = new Set([
  'page_view',
  'click',
  'session_start',
  'session_end',
  'push_opened',
  'push_clicked',
]);

/**
 * Whether a key of this kind may send the event (docs/clients.md, Where a key may be kept). A client key is public: anybody
 * can use it, so it sends no events about money, responsible gaming, KYC, logins or bonuses.
 */
export function maySend(kind: ApiKeyKind, event: string): boolean {
  return kind === 'server' || OF_CLIENTS.has(event) || event.startsWith(CUSTOM_PREFIX);
}

/** Why {@link maySend} refuses an event of a client key, and what to do. */
export function mayNotSend(event: string): string {
  const allowed = `${[...OF_CLIENTS].join(', ')} and ${CUSTOM_PREFIX}*`;
  return `a client key may not send ${event}: send it from a backend with a server key; a client key may send ${allowed}`;
}
