import { exactJson } from '../platform/exact-json.ts';

/** The Content-Type of JSON answers. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * The `meta` of a success envelope (spec part 1). `next_cursor` is null on a list's last page. An endpoint declares what else
 * its meta has.
 */
export interface Meta {
  count?: number;
  next_cursor?: string | null;
}

/** The success envelope `{data, meta?}` as JSON text. */
export function envelope(data: unknown, meta?: Meta & Readonly<Record<string, unknown>>): string {
  return envelopeOfText(exactJson(data), meta);
}

/** The success envelope around data that is already JSON text. */
export function envelopeOfText(data_json: string, meta?: Meta): string {
  return meta === undefined
    ? `{"data":${data_json}}`
    : `{"data":${data_json},"meta":${JSON.stringify(meta)}}`;
}
