import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTransport } from '../../../src/engage/messaging/transports/open.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { clock, MESSAGE, NOW_MS, PROVIDER_ID } from '../messaging/transport-fixture.ts';

describe('the sandbox', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service?.close());

  const open = () => {
    const { postgres, egress } = service.platform;
    const now = new Date(NOW_MS);
    return openTransport(
      {
        tenant_id: service.tenant_id,
        provider_id: PROVIDER_ID,
        name: 'x',
        kind: 'sandbox',
        channel: 'email',
        status: 'active',
        config: {},
        credentials: null,
        rate_per_second: null,
        credentials_refused: null,
        created_at: now,
        updated_at: now,
        deleted_at: null,
      },
      {},
      { postgres, clock, egress, public_url: 'http://localhost' },
    );
  };
  const stored = () => service.platform.postgres.service<
    { message_id: string; recipient: string; headers: unknown }[]
  >`
    select message_id, recipient, headers from sandbox_messages where provider_id = ${PROVIDER_ID} order by message_id`;

  it('stores each message once, and answers in their order', async () => {
    const transport = open();
    const id = (n: number) => `018f0000-0000-7000-8000-0000000010${String(n).padStart(2, '0')}`;
    const messages = Array.from({ length: 30 }, (_, n) => ({
      ...MESSAGE,
      recipient: `p${n}@example.com`,
      send_id: id(n),
    }));
    const first = await transport.sendMany?.(messages.slice(0, 20));
    expect(first?.filter(({ kind }) => kind !== 'sent').slice(0, 20)).toEqual([]);
    const again = await transport.sendMany?.(messages.slice().reverse());
    expect(again).toHaveLength(30);
    expect(again?.slice(10).reverse()).toEqual(first);
    const rows = await stored();
    expect(rows).toHaveLength(30);
    expect(rows[0]?.headers).toEqual(MESSAGE.headers);
    const by_id = new Map(rows.map((row) => [row.message_id, row.recipient]));
    for (const [i, outcome] of (again ?? []).entries()) {
      const { provider_message_id } = outcome as { provider_message_id: string };
      expect(by_id.get(provider_message_id)).toBe(`p${29 - i}@example.com`);
    }
    const one = await transport.send({ ...MESSAGE, send_id: null });
    const two = await transport.send({ ...MESSAGE, send_id: null });
    expect(one).not.toEqual(two);
    expect(await stored()).toHaveLength(32);
    expect(await transport.sendMany?.([])).toEqual([]);
  });

  it('asks for a retry when Postgres cannot store a message', async () => {
    const outcome = await open().send({ ...MESSAGE, send_id: 'no uuid' });
    expect(outcome).toEqual({ kind: 'retry', reason: 'POSTGRES', retry_after_ms: null });
  });
});
