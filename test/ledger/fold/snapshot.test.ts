import { expect, it } from 'vitest';
import { readSnapshot } from '../../../src/ledger/fold/read-queries.ts';
import type { SnapshotRequest } from '../../../src/ledger/fold/snapshot.ts';
import type { Tx } from '../../../src/platform/postgres/port.ts';

const PLACE = { tenant_id: crypto.randomUUID(), project_id: crypto.randomUUID() };

/** The SQL texts of the snapshot's queries, in order. */
async function askedFor(request: SnapshotRequest): Promise<string[]> {
  const asked: string[] = [];
  const statement = (texts: TemplateStringsArray) => {
    asked.push(texts.join('?'));
    const rows = Promise.resolve([]);
    return Object.assign(rows, { values: () => rows });
  };
  await readSnapshot(Object.assign(statement, { unsafe: () => '' }) as unknown as Tx, request);
  return asked;
}

const NOTHING: SnapshotRequest = {
  projects: [PLACE],
  anonymous: [],
  players: [],
  references: [],
  conversions: [],
  event_ids: [],
  sent_ids: [],
  kyc: [],
};

it('gets a transaction id before it reads rates, so that fx-restater waits for this transaction', async () => {
  const { tenant_id } = PLACE;
  const asked = await askedFor({
    ...NOTHING,
    conversions: [{ tenant_id, currency: 'SEK', occurred_at_ms: 0 }],
  });
  const id = asked.findIndex((text) => text.includes('pg_current_xact_id()'));
  const rates = asked.findIndex((text) => text.includes('rate_at('));
  expect(id).toBeGreaterThanOrEqual(0);
  expect(rates).toBeGreaterThan(id);
});
