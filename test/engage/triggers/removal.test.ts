import { expect, it } from 'vitest';
import { TriggerDecider } from '../../../src/engage/triggers/decider.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

it('decided events are removed as fast as they come, not some every few seconds', async () => {
  const fixture = await sharedFixture();
  const { platform } = fixture;
  const { tenant_id, project_id } = await fixture.makeTenant();
  const { service } = platform.postgres;
  await service`
    insert into trigger_events (tenant_id, project_id, listener_id, listener_kind, event_key, player_id, partition,
      log_offset, player_xid, recorded_at, decided_at, outcome, keep_until)
    select ${tenant_id}, ${project_id}, ${tenant_id}, 'campaign', n::text, ${tenant_id}, 0, n, '0', '2001-01-01',
      '2001-01-01', 'refused', case when n = 1 then 'infinity'::timestamptz else '2001-01-02' end
    from generate_series(1, 12001) n`;
  // Its clock stands still.
  const now_ms = Date.UTC(2001, 0, 3);
  const decider = new TriggerDecider({ ...platform, clock: { now_ms: () => now_ms } }, []);
  const { signal } = new AbortController();
  for (let turn = 1; turn <= 3; turn++) expect(await decider.turn(signal)).toBe(turn < 3);
  const left = await service`select log_offset from trigger_events where tenant_id = ${tenant_id}`;
  expect(left).toEqual([{ log_offset: 1n }]);
});
