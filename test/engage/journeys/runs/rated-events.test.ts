import { expect, it } from 'vitest';
import { recordOf } from '../../../../src/engage/journeys/runs/rated-events.ts';
import { playerEventRecord, type PlayerEvent } from '../../../../src/ingest/events/envelope.ts';

it('an event whose rate came is the record of the log with its amounts: under its key it is found to be repeated', () => {
  const event: PlayerEvent = {
    tenant_id: '0197ab6e-0000-7000-8000-000000000001',
    project_id: '0197ab6e-0000-7000-8000-000000000002',
    event: 'deposit_confirmed',
    player_id: '0197ab6e-0000-7000-8000-000000000003',
    occurred_at: 1_700_000_000_000,
    received_at: 1_700_000_000_001,
    ingestion_id: '0197ab6e-0000-7000-8000-000000000004',
    event_index: 0,
    base_amount: null,
    base_payout: null,
    properties: { amount: 60_000, currency: 'KRW' },
  };
  const sent = playerEventRecord(event);
  const kept = { ...event, partition: 0, log_offset: 7n, log_id: 'log', value: sent.value };
  const rated = recordOf({ ...kept, base_amount: 4_000n, base_payout: null, held_at: '' });
  expect(rated).toMatchObject({ key: sent.key, offset: 7n });
  expect(rated.value).toContain('"base_amount":4000');
});
