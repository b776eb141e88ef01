import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { triggerEventEraser } from '../../../src/engage/triggers/erase-queries.ts';
import { encodePlayerEvent } from '../../../src/ingest/events/envelope.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

it('an event that waits for a rate stops no erasure, whatever its numbers are', async () => {
  const fixture = await sharedFixture();
  const { tenant_id, project_id } = await fixture.makeTenant();
  const { service: sql } = fixture.platform.postgres;
  const [erased, other] = [randomUUID(), randomUUID()];
  const lines = [erased, other].map((player_id) =>
    encodePlayerEvent({
      tenant_id,
      project_id,
      player_id,
      event: `custom_","player_id":"${other}"`,
      occurred_at: 1,
      received_at: 1,
      ingestion_id: randomUUID(),
      event_index: 0,
      base_amount: null,
      base_payout: null,
      properties: { player_id: erased, n: 7 },
    }).replace('"n":7', '"n":1e-20000'),
  );
  for (const value of lines) {
    await sql`
      insert into unrated_events (tenant_id, project_id, ingestion_id, event_index, partition, log_offset, log_id, value, held_at)
      values (${tenant_id}, ${project_id}, ${randomUUID()}, 0, 0, 0, 'log', ${value}, now())`;
  }
  const scope = { tenant_id, project_id, player_ids: [erased] };
  const erase = () => sql.begin((tx) => triggerEventEraser.erase(tx, scope as never, 10));
  expect([await erase(), await erase()]).toEqual([1, 0]);
  expect(await sql`select value from unrated_events where tenant_id = ${tenant_id}`).toEqual([
    { value: lines[1] },
  ]);
});
