import { gunzipSync } from 'node:zlib';

const GZIP_MAGIC = 0x1f;

/** What the tests read of a message of a client. */
export interface Message {
  messageId: string;
}

/** The messages of a request of a client, in their order; the body may be compressed by gzip. */
export function messagesOf(body: Buffer): Message[] {
  if (body.length === 0) return [];
  const text = (body[0] === GZIP_MAGIC ? gunzipSync(body) : body).toString('utf8');
  const request = JSON.parse(text) as Message | { batch: Message[] };
  return 'batch' in request ? request.batch : [request];
}
