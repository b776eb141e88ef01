import { maskText } from '../../../src/players/masking.ts';

/** Whether a text that somebody searches for may be an e-mail address, a phone number or an account of a messenger. */
export function mayBePersonal(text: string): boolean {
  return /@|^[+＋]?[\d\s()/.-]{5,}$/.test(text);
}

/** Characters of the end of an id that tell players apart. */
const END = 6;

/** How a player is called: by the operator's own id before the masked email with the end of the id. */
export function nameWith(player: {
  external_id: string | null;
  masked: string | null | undefined;
  id: string;
}): string {
  const { external_id, masked, id } = player;
  return external_id ?? (masked == null ? id : `${masked} …${id.slice(-END)}`);
}

/** As {@link nameWith}, of a player whose email is known. */
export function playerName(player: {
  external_id: string | null;
  email?: string | null;
  id: string;
}): string {
  const { external_id, email = null, id } = player;
  return nameWith({ external_id, masked: email === null ? null : maskText(email), id });
}
