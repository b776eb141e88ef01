import { afterAll, beforeAll, expect, it } from 'vitest';
import { readPurchases } from '../../scripts/cdnow.ts';
import { findLetters } from '../../scripts/import/letters.ts';
import { packageRoot } from '../../src/package-root.ts';
import { folded, type TestService, type TestTenant } from '../engines/service.ts';
import { sharedService } from '../engines/shared-service.ts';
import { fileOf, importFile, newFolder, verdictsOf } from './import-file.ts';
import { join } from 'node:path';
import { copyFile } from 'node:fs/promises';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service?.close());

/** The file as it is: fixed columns, dollars with a decimal point, days, and no ids. */
const CDNOW = {
  csv: { delimiter: 'spaces', quote: null, columns: ['', 'customer', 'sample', 'date', 'cds', 'dollars'] },
  anonymous_id: { column: 'customer', prefix: 'cdnow-' },
  timestamp: { time: 'date', format: 'yyyyMMdd', zone: 'America/New_York' },
  events: [
    {
      event: 'deposit_confirmed',
      properties: {
        amount: { money: 'dollars', scale: 2 },
        currency: { value: 'USD' },
        transaction_id: { line: true },
        payment_method: { value: 'card' },
        cds: { column: 'cds', type: 'integer' },
      },
    },
  ],
};

it('every cent of the CDNOW file is in the totals of its customer, also after a second import', async () => {
  const tenant = { ...service, ...(await service.newTenant('USD')) };
  const file = join(await newFolder(), 'cdnow.txt');
  await copyFile(join(packageRoot, 'scripts/data/cdnow_sample.txt'), file);
  const purchases = await readPurchases();
  const expected = new Map<string, bigint>();
  for (const { customer_id, amount_cents } of purchases) {
    const id = `cdnow-${customer_id}`;
    expected.set(id, (expected.get(id) ?? 0n) + BigInt(amount_cents));
  }
  for (const again of ['', '.again']) {
    const state_file = `${file}${again}.import.json`;
    const { counts } = await importFile(file, CDNOW, tenant, { state_file });
    expect(counts).toMatchObject({ lines: purchases.length, accepted: purchases.length });
    await folded(service.platform);
    expect(await depositsOf(tenant)).toEqual(expected);
  }
});

async function depositsOf({ tenant_id, project_id }: TestTenant): Promise<Map<string, bigint>> {
  const sql = service.platform.postgres.service;
  const rows = await sql<{ anonymous_id: string; total: string }[]>`
    select i.anonymous_id, t.total_deposited::text as total from player_totals t
    join player_identities i using (tenant_id, project_id, player_id)
    where tenant_id = ${tenant_id} and project_id = ${project_id}`;
  return new Map(rows.map(({ anonymous_id, total }) => [anonymous_id, BigInt(total)]));
}

it('names the dead letters of its own lines', async () => {
  const tenant = { ...service, ...(await service.newTenant()) };
  const mapping = {
    anonymous_id: 'player',
    timestamp: { time: 'at', format: 'unix_s' },
    events: [
      {
        event: 'deposit_confirmed',
        properties: {
          transaction_id: 'id',
          amount: { money: 'sum', scale: 2 },
          currency: 'cur',
          payment_method: { value: 'card' },
        },
      },
    ],
  };
  const rows = ['id,player,at,sum,cur', 'a,p,1700000000,1.00,EUR', 'b,p,1700000000,2.00,EUR'];
  const file = await fileOf([...rows, 'a,p,1700000000,3.00,EUR', 'c,p,1700000000,1.00,XXX'].join('\n'));
  const state = await importFile(file, mapping, tenant);
  expect(state.counts).toMatchObject({ accepted: 3, refused: 1 });
  expect((await verdictsOf(file))[0]).toMatchObject({ line: 5, code: 'PROPERTIES_INVALID' });
  const session = { base_url: tenant.base_url, token: tenant.session_token };
  const { letters, is_late } = await findLetters(session, state, `${file}.verdicts.ndjson`);
  expect(is_late).toBe(false);
  expect(letters).toMatchObject([
    { reason: 'CONFLICTING_DUPLICATE', event: 'deposit_confirmed', ids: 'transaction_id a', lines: [2, 5] },
  ]);
});
