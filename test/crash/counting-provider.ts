import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

export interface CountingProvider {
  url: string;
  /** How many times it was given the message of this send. */
  count(send_id: string): number;
  /** The sends of which it was given a message. */
  sendIds(): string[];
  total(): number;
  close(): Promise<void>;
}

/**
 * Speaks the part of SendGrid's protocol that the messenger uses, and counts the messages of each send. It answers after
 * `answer_after_ms`, so that kills happen while requests are under way.
 */
export async function startCountingProvider(answer_after_ms: number): Promise<CountingProvider> {
  const counts = new Map<string, number>();
  const server: Server = createServer((request, response) => {
    void json(request).then(
      async (body) => {
        const { personalizations } = body as { personalizations: { custom_args: { send_id: string } }[] };
        const send_id = personalizations[0]?.custom_args.send_id ?? 'none';
        counts.set(send_id, (counts.get(send_id) ?? 0) + 1);
        await sleep(answer_after_ms);
        response.writeHead(202, { 'x-message-id': send_id }).end();
      },
      // The messenger was killed while it wrote the request: the provider received no message.
      () => response.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    count: (send_id) => counts.get(send_id) ?? 0,
    sendIds: () => [...counts.keys()],
    total: () => [...counts.values()].reduce((sum, one) => sum + one, 0),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
