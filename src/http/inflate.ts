import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { ApiError } from '../errors.ts';
import type { Maybe } from './auth/maybe.ts';

/** The compressions that a request body may have. */
export type Coding = 'gzip' | 'deflate';

const CODINGS: Readonly<Record<string, Coding | undefined>> = {
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
};

/** A body may inflate to so many times its size, and a short one to {@link FREE_BYTES}: equal events compress well. */
const MAX_RATIO = 100;
const FREE_BYTES = 64 * 1024;
/** Up to this size a body is inflated at once, in less than a millisecond; longer ones in the thread pool. */
const SHORT_BYTES = 4 * 1024;

const later = {
  gzip: promisify<zlib.InputType, zlib.ZlibOptions, Buffer>(zlib.gunzip),
  zlib: promisify<zlib.InputType, zlib.ZlibOptions, Buffer>(zlib.inflate),
  raw: promisify<zlib.InputType, zlib.ZlibOptions, Buffer>(zlib.inflateRaw),
};
const at_once = { gzip: zlib.gunzipSync, zlib: zlib.inflateSync, raw: zlib.inflateRawSync };

/**
 * The compression of a request body; undefined: it is sent plain. Throws UNSUPPORTED_MEDIA_TYPE for any Content-Encoding
 * but gzip and deflate, and for several.
 */
export function codingOf(headers: IncomingHttpHeaders): Coding | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  if (encoding === undefined || encoding === '' || encoding === 'identity') return undefined;
  const coding = Object.hasOwn(CODINGS, encoding) ? CODINGS[encoding] : undefined;
  if (coding !== undefined) return coding;
  const shown = JSON.stringify(encoding.slice(0, 32));
  throw new ApiError(
    'UNSUPPORTED_MEDIA_TYPE',
    `Content-Encoding ${shown} is not supported: send the body plain, or as gzip or deflate`,
  );
}

/**
 * The request body without its compression. Inflating stops at `max_bytes`, the body limit of the endpoint, and at 100
 * times the size of `body` if that is over 64 KiB. Throws or rejects with PAYLOAD_TOO_LARGE then, with BODY_MALFORMED when
 * the stream is broken or ends early, and with UNSUPPORTED_MEDIA_TYPE as {@link codingOf} does. A short body is returned
 * without a promise.
 */
export function inflated(headers: IncomingHttpHeaders, body: Buffer, max_bytes: number): Maybe<Buffer> {
  const coding = codingOf(headers);
  if (coding === undefined) return body;
  const max_of_ratio = Math.max(FREE_BYTES, body.length * MAX_RATIO);
  const options = { maxOutputLength: Math.min(max_bytes, max_of_ratio) };
  const refuse = (cause: unknown) => refusalOf(cause, coding, max_of_ratio < max_bytes);
  const format = formatOf(coding, body);
  if (body.length > SHORT_BYTES)
    return later[format](body, options).catch((error: unknown) => Promise.reject(refuse(error)));
  try {
    return at_once[format](body, options);
  } catch (error) {
    throw refuse(error);
  }
}

/** What clients call deflate has the header of zlib (RFC 9110), or not. */
function formatOf(coding: Coding, body: Buffer): keyof typeof later {
  if (coding === 'gzip') return 'gzip';
  const [method = 0, flags = 0] = body;
  return (method & 0x0f) === 8 && ((method << 8) | flags) % 31 === 0 ? 'zlib' : 'raw';
}

function refusalOf(cause: unknown, coding: Coding, by_ratio: boolean): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === 'ERR_BUFFER_TOO_LARGE') {
    const message = by_ratio
      ? `the body inflates to over ${MAX_RATIO} times its size`
      : 'the inflated body is over the size limit';
    return new ApiError('PAYLOAD_TOO_LARGE', message, { cause });
  }
  if (code?.startsWith('Z_') !== true) return cause;
  return new ApiError('BODY_MALFORMED', `the body is not a whole ${coding} stream`, { cause });
}
