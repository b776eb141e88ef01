import { createHash, randomUUID } from 'node:crypto';
import type { ClickHouse } from '../../src/platform/clickhouse/port.ts';
import { makeBitmap } from '../../src/segments/bitmap-queries.ts';
import type { NaivePlayer } from './naive.ts';
import type { Bitmaps } from '../../src/segments/sql/condition-sql.ts';
import type { ProjectRef } from '../../src/tenants/project-ref.ts';

/** As `member_hash` of Postgres, of all of these members. */
export function membersHash(player_ids: readonly string[]): string {
  const hashOf = (id: string) => createHash('md5').update(id).digest().readBigUInt64BE();
  return String(player_ids.reduce((all, id) => all ^ hashOf(id), 0n));
}

/** Inserts players, their events, messages and memberships into ClickHouse; returns the bitmaps of the segments. */
export async function storePopulation(
  clickhouse: ClickHouse,
  project: ProjectRef,
  players: readonly NaivePlayer[],
): Promise<Bitmaps> {
  const line = (row: Record<string, unknown>) => JSON.stringify({ ...project, ...row });
  const rows = players.map(({ player_id, traits, custom_attributes }, i) =>
    line({
      player_id,
      player_no: i + 1,
      numbering: 1,
      external_id: null,
      ...traits,
      custom_attributes,
      revision: 1,
    }),
  );
  const events = players.flatMap(({ player_id, events }) =>
    events.map(({ occurred_ms, ...event }) =>
      line({
        player_id,
        ...event,
        occurred_at: occurred_ms,
        received_at: occurred_ms,
        ingestion_id: randomUUID(),
        event_index: 0,
      }),
    ),
  );
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
  if (messages.length > 0) await clickhouse.insertLines('message_sends', messages, randomUUID());
  if (members.length > 0) await clickhouse.insertLines('segment_members', members, randomUUID());
  const hashes = new Map<string, string>();
  for (const segment_id of new Set(players.flatMap(({ segment_ids }) => [...segment_ids]))) {
    const ids = players.filter((one) => one.segment_ids.has(segment_id)).map(({ player_id }) => player_id);
    hashes.set(segment_id, membersHash(ids));
    const state = { segment_id, members_hash: membersHash(ids), size: BigInt(ids.length), numbering: '1' };
    await makeBitmap(clickhouse, project, state, 10);
  }
  return { numbering: '1', hashes };
}
