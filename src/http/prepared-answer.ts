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
  readonly #make: () => Promise<string>;
  #made: Promise<{ text: string; tag: string }> | undefined;
  #compressed: Promise<Buffer> | undefined;

  /** `make` gives the text, at the first request. */
  constructor(make: () => Promise<string>) {
    this.#make = make;
  }

  /** What is sent: the text or the compressed bytes, or nothing with 304. Sets the headers of the answer. */
  async bodyFor({ headers }: FastifyRequest, reply: FastifyReply): Promise<string | Buffer> {
    const { text, tag: tag_of_text } = await (this.#made ??= this.#prepare());
    const is_compressed = acceptsGzip(headers['accept-encoding']);
    // Two representations have two tags (RFC 9110, 8.8.3).
    const tag = `"${tag_of_text}${is_compressed ? '-gzip' : ''}"`;
    void reply.headers({ etag: tag, vary: 'accept-encoding' });
    if (isKnown(headers['if-none-match'], tag)) {
      void reply.code(304).removeHeader('content-type');
      return '';
    }
    if (!is_compressed) return text;
    void reply.header('content-encoding', 'gzip');
    return (this.#compressed ??= compress(text, { level: constants.Z_BEST_COMPRESSION }));
  }

  async #prepare(): Promise<{ text: string; tag: string }> {
    const text = await this.#make();
    return { text, tag: createHash('sha256').update(text).digest('base64url').slice(0, 22) };
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
