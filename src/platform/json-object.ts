/** A JSON object whose values are not validated. */
export type JsonObject = Record<string, unknown>;

/** Whether the value is an object as JSON has them: neither null nor a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A merge patch of a `T`: any field of an object may be omitted, or be null, which removes it. */
export type MergePatch<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [Key in keyof T]?: MergePatch<T[Key]> | null | undefined }
    : T;

/**
 * Merges `patch` over `target`: objects merge deeply, null removes a key, every other value replaces, arrays as a whole
 * (JSON Merge Patch, RFC 7396). Changes neither argument. Recurses as deep as `patch`: the caller must bound its depth.
 */
export function mergeDeep(target: unknown, patch: JsonObject): JsonObject {
  // A map, because in it `__proto__` is a key like any other and never sets a prototype.
  const merged = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, isObject(value) ? mergeDeep(merged.get(key), value) : value);
  }
  return Object.fromEntries(merged);
}
