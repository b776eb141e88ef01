/** A JSON object whose values nobody has looked at yet. */
export type JsonObject = Record<string, unknown>;

/** What a merge patch of a `T` may say: any field of an object may be left out, or be null, which removes it. */
export type MergePatch<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [Key in keyof T]?: MergePatch<T[Key]> | null | undefined }
    : T;

/**
 * `target` with `patch` merged over it: objects merge deeply, null removes, everything else replaces, arrays as a
 * whole (JSON Merge Patch, RFC 7396). Changes neither argument. As deep as `patch` is, so the caller bounds that.
 */
export function mergeDeep(target: unknown, patch: JsonObject): JsonObject {
  // Through a map: a key such as `__proto__` is a key like any other, never the prototype of something.
  const merged = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, isObject(value) ? mergeDeep(merged.get(key), value) : value);
  }
  return Object.fromEntries(merged);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
