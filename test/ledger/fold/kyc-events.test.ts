import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { KycOfBatch } from '../../../src/ledger/fold/kyc-events.ts';
import type { FoldEvent } from '../../../src/ledger/fold/fold-event.ts';

const [tenant_id, project_id, player_id] = [randomUUID(), randomUUID(), randomUUID()];

/** What events of the log come to, each a second after the one before. */
function stateAfter(...events: { event: string; properties: object }[]) {
  const projects = new Map([
    [project_id, { tenant_id, project_no: 1, base_currency: 'EUR', kyc_model: 'dual' as const }],
  ]);
  const kyc = new KycOfBatch({ projects, kyc: new Map() });
  for (const [index, { event, properties }] of events.entries()) {
    const at_ms = Date.UTC(2026, 10, 22) + index * 1_000;
    const accepted = { tenant_id, project_id, ingestion_id: randomUUID(), index, received_at_ms: at_ms };
    const told = { accepted: { ...accepted, event: { event } }, properties, occurred_at_ms: at_ms };
    kyc.take(told as unknown as FoldEvent, player_id);
  }
  const [change] = kyc.changes();
  return change?.state;
}

it('an end that cannot be read, and is on the log already, gives no right', () => {
  for (const expires_at of ['soon', 1_900_000_000, true, {}, '2027-02-30']) {
    const properties = { level: 2, expires_at };
    expect(stateAfter({ event: 'kyc_approved', properties }), JSON.stringify(expires_at)).toMatchObject({
      status: 'expired',
    });
    const approved = { event: 'kyc_approved', properties: { level: 1 } };
    expect(stateAfter(approved, { event: 'kyc_level_upgraded', properties })).toMatchObject({
      status: 'expired',
    });
    expect(stateAfter({ event: 'kyc_approved', properties }, approved)).toMatchObject({ status: 'approved' });
  }
  for (const expires_at of [undefined, null, '2027-03-31', '2027-03-31T00:00:00Z'])
    expect(stateAfter({ event: 'kyc_approved', properties: { level: 2, expires_at } })).toMatchObject({
      status: 'approved',
      level: 2,
      expires_at_ms: typeof expires_at === 'string' ? Date.UTC(2027, 2, 31) : null,
    });
});
