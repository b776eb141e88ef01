import { randomUUID } from 'node:crypto';
import type { ClickHouse } from '../../src/platform/clickhouse/port.ts';
import type { NaivePlayer } from './naive.ts';
import type { ProjectRef } from '../../src/tenants/project-ref.ts';

/**
 * Inserts players, their events, messages and memberships into ClickHouse. Every second event also has the row that a
 * later revision has replaced, with other amounts, in a part of its own.
 */
export async function storePopulation(
  clickhouse: ClickHouse,
  project: ProjectRef,
  players: readonly NaivePlayer[],
): Promise<void> {
  const line = (row: Record<string, unknown>) => JSON.stringify({ ...project, ...row });
  const rows = players.map(({ player_id, traits, custom_attributes, events: own }) => {
    const deposits_ms = own
      .filter(({ event }) => event === 'deposit_confirmed')
      .map(({ occurred_ms }) => occurred_ms);
    const first_deposit_at = deposits_ms.length === 0 ? null : Math.min(...deposits_ms);
    return line({
      player_id,
      external_id: null,
      ...traits,
      first_deposit_at,
      custom_attributes,
      revision: 1,
    });
  });
  const events = players.flatMap(({ player_id, events }) =>
    events.map(({ occurred_ms, ...event }) =>
      line({
        player_id,
        ...event,
        occurred_at: occurred_ms,
        received_at: occurred_ms,
        ingestion_id: randomUUID(),
        event_index: 0,
        revision: 1,
      }),
    ),
  );
  const replaced = events
    .filter((_, i) => i % 2 === 0)
    .map((event) => JSON.stringify({ ...JSON.parse(event), base_amount: 7, base_payout: 9, revision: 0 }));
  const messages = players.flatMap(({ player_id, messages }) =>
    messages.map(({ channel, campaign_id, status, ...times }) =>
      line({
        player_id,
        send_id: randomUUID(),
        channel,
        campaign_id,
        status,
        ...Object.fromEntries(Object.entries(times).map(([name, ms]) => [name.replace('_ms', '_at'), ms])),
        revision: 1,
      }),
    ),
  );
  const members = players.flatMap(({ player_id, segment_ids }) =>
    [...segment_ids].map((segment_id) => line({ player_id, segment_id, revision: 1 })),
  );
  await clickhouse.insertLines('players', rows, randomUUID());
  if (events.length > 0) await clickhouse.insertLines('events', events, randomUUID());
  if (replaced.length > 0) await clickhouse.insertLines('events', replaced, randomUUID());
  if (messages.length > 0) await clickhouse.insertLines('message_sends', messages, randomUUID());
  if (members.length > 0) await clickhouse.insertLines('segment_members', members, randomUUID());
}
