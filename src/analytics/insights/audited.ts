/** In place of a value. */
const HIDDEN = '•••';
/** Fields of queries, definitions and cells with what people write or events have: they may be addresses or names. */
const VALUES: ReadonlySet<string> = new Set(['value', 'group', 'not_in']);

/**
 * A query or a cell as the audit log shows it: its kind, range, and names of metrics, events and properties, and no value that
 * something is compared with. An erasure of a player cannot reach into the audit log for it.
 */
export function withoutValues(written: unknown): unknown {
  if (Array.isArray(written)) return written.map(withoutValues);
  if (typeof written !== 'object' || written === null) return written;
  // The value of a whole query is the name of a figure.
  const isHidden = (name: string) => VALUES.has(name) && !(name === 'value' && 'kind' in written);
  return Object.fromEntries(
    Object.entries(written).map(([name, value]) => [name, isHidden(name) ? HIDDEN : withoutValues(value)]),
  );
}
