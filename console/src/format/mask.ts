import { maskText } from '../../../src/console/events/masking.ts';

/** Whether a text that somebody searches for may be an e-mail address, a phone number or an account of a messenger. */
export function mayBePersonal(text: string): boolean {
  return /@|^[+＋]?[\d\s()/.-]{5,}$/.test(text);
}

/** How a player is called where many are shown: by the operator's own id before anything personal, which is masked. */
export function playerName(player: {
  external_id: string | null;
  email?: string | null;
  id: string;
}): string {
  const { external_id, email = null, id } = player;
  return external_id ?? (email === null ? id : maskText(email));
}
