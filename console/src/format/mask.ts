/** Names of properties that hold something personal, in any spelling: `email`, `userEmail`, `phone_number`. */
const PERSONAL_NAME = /e-?mail|phone|mobile|msisdn/i;
const EMAIL = /[^\s@"<>]+@[^\s@"<>]+\.[^\s@"<>]+/g;
const MAX_DEPTH = 20;

/** Whether a text that somebody searches for may be an e-mail address, a phone number or an account of a messenger. */
export function mayBePersonal(text: string): boolean {
  return /@|^\+?[\d\s()/.-]{5,}$/.test(text);
}

/** Keeps the first character, and of an e-mail address its domain, of a number its last two digits. */
export function maskText(text: string): string {
  const at = text.lastIndexOf('@');
  return `${text.slice(0, 1)}•••${at > 0 ? text.slice(at) : text.length > 6 ? text.slice(-2) : ''}`;
}

/** A value with e-mail addresses in it masked, and everything under a name such as `email` or `phone`. */
export function maskPersonal(value: unknown, is_personal = false, depth = 0): unknown {
  if (typeof value === 'string') return is_personal ? maskText(value) : value.replaceAll(EMAIL, maskText);
  if (typeof value === 'number') return is_personal ? maskText(String(value)) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((one) => maskPersonal(one, is_personal, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      maskPersonal(one, is_personal || PERSONAL_NAME.test(name), depth + 1),
    ]),
  );
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
