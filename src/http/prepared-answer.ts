import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

const compress = promisify(gzip);

/**
 * An answer that is the same for every caller. It is made and compressed once, is sent with gzip to callers that accept it,
 * and has an ETag, with which a caller that has it already gets 304 without a body.
 */
export class PreparedAnswer {
  readonly #text: string;
  readonly #tag: string;
  #compressed: Promise<Buffer> | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#tag = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  }

  /** What is sent: the text or the compressed bytes, or nothing with 304. Sets the headers of the answer. */
  async bodyFor({ headers }: FastifyRequest, reply: FastifyReply): Promise<string | Buffer> {
    const is_compressed = acceptsGzip(headers['accept-encoding']);
    // Two representations have two tags (RFC 9110, 8.8.3).
    const tag = `"${this.#tag}${is_compressed ? '-gzip' : ''}"`;
    void reply.headers({ etag: tag, vary: 'accept-encoding', 'cache-control': 'no-cache' });
    if (isKnown(headers['if-none-match'], tag)) {
      void reply.code(304).removeHeader('content-type');
      return '';
    }
    if (!is_compressed) return this.#text;
    void reply.header('content-encoding', 'gzip');
    return (this.#compressed ??= compress(this.#text, { level: constants.Z_BEST_COMPRESSION }));
  }
}

/** Whether a caller with this Accept-Encoding takes gzip: it names it, or everything, and not with the weight 0. */
export function acceptsGzip(accepted: string | string[] | undefined): boolean {
  const weights = new Map<string, number>();
  for (const one of String(accepted ?? '').split(',')) {
    const [name = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase());
    const [, weight = '1'] = /^q=([\d.]+)$/.exec(parameters[0] ?? '') ?? [];
    weights.set(name, Number(weight));
  }
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0;
}

/** Whether If-None-Match names the tag; a proxy that compresses may have marked it as weak. */
function isKnown(condition: string | undefined, tag: string): boolean {
  const tags = condition?.split(',').map((one) => one.trim().replace(/^W\//, '')) ?? [];
  return tags.includes(tag) || tags.includes('*');
}
