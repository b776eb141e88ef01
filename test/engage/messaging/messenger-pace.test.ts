import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { messengerOf, openMessengerFixture, type MessengerFixture } from './messenger-fixture.ts';

let fixture: MessengerFixture;
beforeAll(async () => {
  fixture = await openMessengerFixture();
});
afterAll(() => fixture?.close());

/** An SMTP server that takes so long for each message; `begun` has the time at which each message began to arrive. */
async function slowServer(message_ms: number) {
  const begun = new Map<string, number>();
  const began_ms = new Map<string, number>();
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    onMailFrom(_address, { id }, done) {
      began_ms.set(id, Date.now());
      done();
    },
    onData(stream, { id }, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const [, send_id = ''] = /^Message-ID: <([^@]+)@/im.exec(Buffer.concat(chunks).toString()) ?? [];
        begun.set(send_id, began_ms.get(id) ?? 0);
        setTimeout(() => done(), message_ms);
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return { port, begun, close: () => new Promise<void>((resolve) => server.close(() => resolve())) };
}

it('with a slow provider 99 % of messages are handed over within a second of the moment the gate looks at', async () => {
  const { service } = fixture;
  const server = await slowServer(300);
  const { client, sending } = await fixture.newTenant();
  const provider_id = await client.provider({
    kind: 'smtp',
    config: { host: '127.0.0.1', port: server.port, from: 'hi@casino.example' },
  });
  const campaigns: string[] = [];
  for (let n = 0; n < 3; n++) campaigns.push(await sending(20, { provider_id }));
  const { messenger, turnsUntil } = messengerOf(service);
  try {
    await turnsUntil('all are sent', async () => {
      const counted = await Promise.all(campaigns.map((id) => client.stats(id)));
      return counted.every(({ counters }) => counters['sent'] === 20);
    });
  } finally {
    await messenger.close();
    await server.close();
  }
  const rows = await service.platform.postgres.service<{ send_id: string; counted_at: Date }[]>`
    select send_id, counted_at from message_sends where campaign_id in ${service.platform.postgres.service(campaigns)}`;
  const waits_ms = rows
    .map(({ send_id, counted_at }) => (server.begun.get(send_id) ?? Infinity) - counted_at.getTime())
    .sort((a, b) => a - b);
  expect(waits_ms).toHaveLength(60);
  expect(waits_ms[Math.ceil(waits_ms.length * 0.99) - 1]).toBeLessThanOrEqual(1_000);
  const counted = await service.platform.metrics.registry.metrics();
  const [, within = '0'] =
    /^message_hand_over_seconds_bucket\{le="1",channel="email"\} (\d+)$/m.exec(counted) ?? [];
  expect(Number(within)).toBeGreaterThanOrEqual(59);
});
