import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { messengerOf, openMessengerFixture, type MessengerFixture } from './messenger-fixture.ts';

/** Connections to one SMTP server; each works on one message at a time. */
const CONNECTIONS = 5;

let fixture: MessengerFixture;
beforeAll(async () => {
  fixture = await openMessengerFixture();
});
afterAll(() => fixture?.close());

/**
 * An SMTP server that answers no message until `release`; `held` has the messages that wait for its answer, `answered`
 * those that have it.
 */
async function holdingServer() {
  const held = new Map<string, () => void>();
  const answered = new Set<string>();
  let is_holding = true;
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    onData(stream, _session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const [, send_id = ''] = /^Message-ID: <([^@]+)@/im.exec(Buffer.concat(chunks).toString()) ?? [];
        const answer = () => {
          answered.add(send_id);
          done();
        };
        if (is_holding) held.set(send_id, answer);
        else answer();
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  /** Answers the messages that are held; with `all` also those that come later. */
  const release = (all: boolean) => {
    is_holding = !all;
    for (const [send_id, answer] of held) {
      held.delete(send_id);
      answer();
    }
  };
  const close = () => {
    release(true);
    return new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { port, held, answered, release, close };
}

it('with a slow provider no message waits between the gate and its hand-over', async () => {
  const { service } = fixture;
  const sql = service.platform.postgres.service;
  const server = await holdingServer();
  const { client, sending } = await fixture.newTenant();
  const provider_id = await client.provider({
    kind: 'smtp',
    config: { host: '127.0.0.1', port: server.port, from: 'hi@casino.example' },
  });
  const campaigns: string[] = [];
  for (let n = 0; n < 3; n++) campaigns.push(await sending(20, { provider_id }));
  const { messenger, turnsUntil } = messengerOf(service);
  /**
   * The messages that the gate has let through and that the provider has not answered: never more than it works on. The
   * answers of others may not be written yet.
   */
  const underWay = async () => {
    const rows = await sql<{ send_id: string }[]>`
      select send_id from message_sends where status = 'sending' and campaign_id in ${sql(campaigns)}`;
    const under_way = rows.map(({ send_id }) => send_id).filter((id) => !server.answered.has(id));
    expect(under_way.length).toBeLessThanOrEqual(CONNECTIONS);
    return under_way.sort();
  };
  try {
    for (let round = 0; round < 3; round++) {
      await turnsUntil('the provider works on as many as it can', async () => {
        await underWay();
        return server.held.size === CONNECTIONS;
      });
      for (let turn = 0; turn < 3; turn++) {
        messenger.wake();
        await messenger.turn();
      }
      expect(await underWay()).toEqual([...server.held.keys()].sort());
      server.release(false);
    }
    server.release(true);
    await turnsUntil('all are sent', async () => {
      await underWay();
      const counted = await Promise.all(campaigns.map((id) => client.stats(id)));
      return counted.every(({ counters }) => counters['sent'] === 20);
    });
  } finally {
    server.release(true);
    await messenger.close();
    await server.close();
  }
  const metrics = await service.platform.metrics.registry.metrics();
  expect(metrics).toMatch(/^message_hand_over_seconds_count\{channel="email"\} 60$/m);
  expect(metrics).toMatch(/^campaign_rows_total 60$/m);
  expect(metrics).toMatch(/^fence_wait_seconds_count [1-9]\d*$/m);
});

it('messages that the gate stops are counted by channel and code, when they are made and when they are sent', async () => {
  const { service } = fixture;
  const read = async (name: string) => {
    const lines = (await service.platform.metrics.registry.metrics()).split('\n');
    return Number(lines.find((line) => line.startsWith(`${name} `))?.split(' ')[1] ?? 0);
  };
  const skipped = 'messages_skipped_total{channel="email",code="SKIPPED_NO_RECIPIENT"}';
  const rows = await read('campaign_rows_total');
  const { client, sending, codes } = await fixture.newTenant();
  const players = [...(await client.players(2)), ...(await client.players(3, { email: null }))];
  const provider_id = await client.provider();
  const campaign_id = await sending(players, { provider_id });
  expect([await read('campaign_rows_total'), await read(skipped)]).toEqual([rows + 5, 3]);
  // After the message was made the player has no address any more.
  await service.platform.postgres
    .service`update players set email = null where player_id = ${players[0] ?? ''}`;
  const { messenger, turnsUntil } = messengerOf(service);
  try {
    await turnsUntil('the other one is sent', async () => {
      const counted = await client.stats(campaign_id);
      return counted.counters['sent'] === 1;
    });
  } finally {
    await messenger.close();
  }
  expect((await codes(campaign_id)).filter((code) => code === 'failed SKIPPED_NO_RECIPIENT')).toHaveLength(4);
  expect(await read(skipped)).toBe(4);
});
