import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

describe('addresses from before they were stored plain', () => {
  /** The migration that makes stored addresses plain. */
  const PLAIN = 145;

  let before: EarlierSchema;
  beforeAll(async () => {
    before = await openEarlierSchema(PLAIN);
  });
  afterAll(() => before?.close());

  it('are plain, once each, and bar what is looked for', async () => {
    const { sql } = before;
    const tenants = [newId(), newId()] as const;
    for (const tenant_id of tenants) {
      await sql`insert into tenants (tenant_id, name, base_currency, created_at) values (${tenant_id}, 'T', 'EUR', now())`;
    }
    const [one, two] = tenants;
    const rows = [
      [one, 'email', 'a@example.com\u200b', 'manual', 2020],
      [one, 'email', 'mailto:b@example.com?subject=hi', 'bounce', 2020],
      [one, 'email', 'b@exam\u00adple.com', 'unsubscribe', 2021],
      [one, 'email', 'b@example.com', 'unsubscribe', 2020],
      [one, 'email', '\ufeffc@example.com', 'unsubscribe', 2026],
      [one, 'email', 'c@example.com', 'complaint', 2020],
      [one, 'email', 'd@example.com', 'manual', 2020],
      [one, 'email', '\u200b', 'manual', 2020],
      [one, 'push', 'token\u202c', 'bounce', 2020],
      [one, 'sms', 'tel:+49 151 1', 'unsubscribe', 2020],
      [one, 'sms', '00491511', 'bounce', 2021],
      [one, 'sms', '\u2068+44 2\u2069', 'manual', 2020],
      [two, 'email', 'mailto:a@example.com', 'manual', 2020],
    ] as const;
    for (const [tenant_id, channel, address, reason, year] of rows) {
      await sql`
        insert into suppressions (tenant_id, channel, address, reason, created_at)
        values (${tenant_id}, ${channel}, ${address}, ${reason}, make_date(${year}::integer, 1, 1))`;
    }
    await before.upgrade();
    const kept = await sql<{ shown: string }[]>`
      select concat_ws(' | ', tenant_id, channel, address, dialled, reason, extract(year from created_at)) as shown
      from suppressions`;
    expect(new Set(kept.map(({ shown }) => shown))).toEqual(
      new Set([
        `${one} | email | a@example.com | manual | 2020`,
        `${one} | email | b@example.com | unsubscribe | 2021`,
        `${one} | email | c@example.com | complaint | 2020`,
        `${one} | email | d@example.com | manual | 2020`,
        `${one} | email | \u200b | manual | 2020`,
        `${one} | push | token | bounce | 2020`,
        `${one} | sms | +49 151 1 | 491511 | unsubscribe | 2020`,
        `${one} | sms | +44 2 | 442 | manual | 2020`,
        `${two} | email | a@example.com | manual | 2020`,
      ]),
    );
    // Nobody who owns tables is without row-level security afterwards.
    const [table] = await sql`select relforcerowsecurity as forced from pg_class where relname = 'suppressions'`;
    expect(table).toEqual({ forced: true });
  });
});
