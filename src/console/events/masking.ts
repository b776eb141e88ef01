/** Names of properties whose texts are masked, in any spelling: `email`, `userEmail`, `phone_number`, `msisdn`. */
const PERSONAL_NAME = /e-?mail|phone|mobile|msisdn/i;
const EMAIL = /[^\s@"<>]+@[^\s@"<>]+\.[^\s@"<>]+/g;
/** Texts that have nothing of the kind are not parsed. */
const MAY_BE_PERSONAL = /@|mail|phone|mobile|msisdn|\\u/i;
const MAX_DEPTH = 20;

/**
 * The JSON text of an event's properties with e-mail addresses and telephone numbers masked: addresses in any text, and all
 * texts and numbers under a name such as `email` or `phone`.
 */
export function maskPersonal(json: string): string {
  if (!MAY_BE_PERSONAL.test(json)) return json;
  return JSON.stringify(masked(JSON.parse(json), false, 0));
}

function masked(value: unknown, is_personal: boolean, depth: number): unknown {
  if (typeof value === 'string') return is_personal ? maskText(value) : value.replaceAll(EMAIL, maskText);
  if (typeof value === 'number') return is_personal ? maskText(String(value)) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((one) => masked(one, is_personal, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      masked(one, is_personal || PERSONAL_NAME.test(name), depth + 1),
    ]),
  );
}

/** Keeps the first character, and of an e-mail address its domain. */
function maskText(text: string): string {
  const at = text.lastIndexOf('@');
  return `${text.slice(0, 1)}•••${at > 0 ? text.slice(at) : text.length > 6 ? text.slice(-2) : ''}`;
}
