import { gunzipSync } from 'node:zlib';

const GZIP_MAGIC = 0x1f;

/** The ids of the messages of a request of a client, in their order; the body may be compressed by gzip. */
export function messageIdsOf(body: Buffer): string[] {
  if (body.length === 0) return [];
  const text = (body[0] === GZIP_MAGIC ? gunzipSync(body) : body).toString('utf8');
  const { batch, messageId } = JSON.parse(text) as { batch?: { messageId: string }[]; messageId?: string };
  return batch?.map((message) => message.messageId) ?? (messageId === undefined ? [] : [messageId]);
}
