import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../../src/platform/ids.ts';
import { openEarlierSchema, type EarlierSchema } from './earlier-schema.ts';

/** The migration that makes spellings of a telephone number one. */
const DIALLED = 72;

let earlier: EarlierSchema;
beforeAll(async () => {
  earlier = await openEarlierSchema(DIALLED);
});
afterAll(() => earlier?.close());

it('of several spellings one stays, a wish rather than a bounce, in each tenant by itself', async () => {
  const { sql } = earlier;
  const tenants = [newId(), newId()] as const;
  for (const tenant_id of tenants) {
    await sql`insert into tenants (tenant_id, name, base_currency, created_at) values (${tenant_id}, 'T', 'EUR', now())`;
  }
  const [one, two] = tenants;
  const rows = [
    [one, 'sms', '+49 151 1', 'bounce', 2020],
    [one, 'sms', '+491511', 'unsubscribe', 2025],
    [one, 'sms', '0049(0)151-1', 'complaint', 2026],
    [one, 'sms', '+44 2', 'bounce', 2021],
    [one, 'sms', '00442', 'bounce', 2020],
    [one, 'sms', 'casino', 'manual', 2020],
    [one, 'sms', '000', 'manual', 2020],
    [one, 'email', '+491511', 'bounce', 2020],
    [two, 'sms', '+49 151 1', 'bounce', 2020],
  ] as const;
  for (const [tenant_id, channel, address, reason, year] of rows) {
    await sql`
      insert into suppressions (tenant_id, channel, address, reason, created_at)
      values (${tenant_id}, ${channel}, ${address}, ${reason}, make_date(${year}::integer, 1, 1))`;
  }
  await earlier.upgrade();
  const kept = await sql<{ tenant_id: string; channel: string; address: string; dialled: string | null }[]>`
    select tenant_id, channel, address, dialled from suppressions`;
  expect(new Set(kept.map((row) => [row.tenant_id, row.channel, row.address, row.dialled].join(' | ')))).toEqual(
    new Set([
      `${one} | sms | +491511 | 491511`,
      `${one} | sms | 00442 | 442`,
      `${one} | sms | casino | casino`,
      `${one} | sms | 000 | 000`,
      `${one} | email | +491511 | `,
      `${two} | sms | +49 151 1 | 491511`,
    ]),
  );
});
