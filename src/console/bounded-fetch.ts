import type { CustomFetch } from 'openid-client';

/** Metadata, keys and tokens are far smaller. */
const MAX_BYTES = 512 * 1024;

/**
 * `fetch` for the identity provider: it follows no redirect, and rejects with TypeError when the answer is longer than
 * 512 KiB. The signal of the options limits the time, the body included.
 */
export const boundedFetch: CustomFetch = async (url, options) => {
  const { body, ...rest } = options;
  const answer = await fetch(url, {
    ...rest,
    redirect: 'manual',
    ...(body === undefined ? {} : { body }),
  });
  const bytes: Uint8Array[] = [];
  let length = 0;
  if (answer.body !== null) {
    for await (const chunk of answer.body) {
      length += chunk.length;
      if (length > MAX_BYTES) throw new TypeError('the answer of the identity provider is too long');
      bytes.push(chunk);
    }
  }
  const { status, headers } = answer;
  return new Response(length === 0 ? null : Buffer.concat(bytes), { status, headers });
};
