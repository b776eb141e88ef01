const MAX_SHAPE = 1_000;
const MAX_FIELDS = 40;
const MAX_DEPTH = 3;
const MAX_NUMBER = 6;
/** Names of fields. Others may be data: an address as a key of an object. */
const FIELD_NAME = /^[A-Za-z_$][\w $.:-]{0,39}$/;
/** An e-mail address, or what may be a telephone number or an id of a person. */
const CONTACT = /[^\s"'<>]{1,64}@[^\s"'<>]{1,255}|\+?\d[\d\s()./-]{5,30}\d/g;
/** The host of a page under development. It looks like a telephone number. */
const LOOPBACK = '127.0.0.1';

/**
 * The names and types of a sent event, as JSON text of at most 1,000 characters: `{"event":"text(5)","amount":25.5}`. Short
 * numbers, booleans and null stay; texts do not, so that it says nothing about a person. `parsed`: JSON as it was parsed.
 */
export function shapeOf(parsed: unknown): string {
  const text = JSON.stringify(typed(parsed, 0));
  return text.length <= MAX_SHAPE ? text : `${text.slice(0, MAX_SHAPE - 1)}…`;
}

function typed(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return `text(${value.length})`;
  if (typeof value === 'number') return String(value).length <= MAX_NUMBER ? value : 'number';
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (Array.isArray(value)) return `list(${value.length})`;
  // Numbers that a double does not hold are objects of a class.
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return 'number';
  if (depth === MAX_DEPTH) return 'object';
  const shape: [string, unknown][] = [];
  for (const name in value) {
    if (shape.length === MAX_FIELDS) {
      shape.push(['…', '…']);
      break;
    }
    const shown = FIELD_NAME.test(name) ? withoutContacts(name) : '…';
    shape.push([shown, typed((value as Record<string, unknown>)[name], depth + 1)]);
  }
  return Object.fromEntries(shape);
}

/** A text without e-mail addresses and numbers of over six digits, which `…` replaces; the loopback address stays. */
export function withoutContacts(text: string): string {
  return text.replace(CONTACT, (found) => (found === LOOPBACK ? found : '…'));
}

/** The same in what stands between double quotes, which is of the sender; the other words are of the service. */
export function withoutQuotedContacts(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*(?:"|$)/g, withoutContacts);
}
