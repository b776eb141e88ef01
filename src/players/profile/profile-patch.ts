/** The columns of `players` that callers may change, besides custom_attributes. */
export interface ProfileColumns {
  external_id?: string;
  email?: string | null | undefined;
  phone?: string | null | undefined;
  telegram_id?: string | null | undefined;
  timezone?: string | null | undefined;
  default_currency_code?: string | undefined;
  status?: string | undefined;
}

/** A change of a player's profile: absent columns stay, null clears. */
export interface ProfilePatch {
  columns: ProfileColumns;
  /** Custom attributes to set; the others stay. */
  attributes: Record<string, unknown>;
  /** Names of custom attributes to remove. */
  removed_attributes: string[];
}

/** Custom attributes per player, in bytes of JSON. */
export const MAX_ATTRIBUTES_BYTES = 65_536;

/**
 * What a caller without a proof of the user may fill of it: the rest stays free for the tenant's servers, whose changes
 * a page must not be able to stop.
 */
const MAX_UNPROVEN_BYTES = MAX_ATTRIBUTES_BYTES / 2;

/** How much of it a caller of identify may fill. */
export function maxBytesOf(is_proven: boolean): number {
  return is_proven ? MAX_ATTRIBUTES_BYTES : MAX_UNPROVEN_BYTES;
}

/** Splits given custom attributes into those to set and, where null, those to remove. */
export function splitAttributes(
  given: Record<string, unknown>,
): Pick<ProfilePatch, 'attributes' | 'removed_attributes'> {
  const entries = Object.entries(given);
  return {
    attributes: Object.fromEntries(entries.filter(([, value]) => value !== null)),
    removed_attributes: entries.filter(([, value]) => value === null).map(([key]) => key),
  };
}

/**
 * What of a patch sets a value that the player does not have: nothing is overwritten, nothing is removed. The external_id is set
 * only where there is none.
 */
export function withoutOverwriting(
  { columns, attributes }: ProfilePatch,
  known: { columns: readonly string[]; attributes: readonly string[] },
): ProfilePatch {
  const isNew = (names: readonly string[]) => (entry: [string, unknown]) => !names.includes(entry[0]);
  return {
    columns: Object.fromEntries(
      Object.entries(columns)
        .filter(isNew(known.columns))
        .filter(([, value]) => value !== null),
    ),
    attributes: Object.fromEntries(Object.entries(attributes).filter(isNew(known.attributes))),
    removed_attributes: [],
  };
}

/** Whether applying the patch could change anything. */
export function isEmptyPatch({ columns, attributes, removed_attributes }: ProfilePatch): boolean {
  return (
    Object.values(columns).every((value) => value === undefined) &&
    Object.keys(attributes).length === 0 &&
    removed_attributes.length === 0
  );
}
