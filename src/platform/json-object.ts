/** A JSON object whose values are not validated. */
export type JsonObject = Record<string, unknown>;

/** Whether the value is an object as JSON has them: neither null nor a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
