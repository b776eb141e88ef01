import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openEarlierSchema, type EarlierSchema } from './earlier-schema.ts';

/** The migrations that begin the outbox of message events, and name the entries of existing members by their segments. */
const STAGES = 115;

const project = { tenant_id: randomUUID(), project_id: randomUUID() };

let earlier: EarlierSchema;
beforeAll(async () => {
  earlier = await openEarlierSchema(STAGES);
  await store();
  await earlier.upgrade();
});
afterAll(() => earlier?.close());

const ids = { reported: randomUUID(), unreported: randomUUID(), resumed: randomUUID(), changed: randomUUID() };
const segment_id = randomUUID();

async function store(): Promise<void> {
  const { sql } = earlier;
  const { tenant_id, project_id } = project;
  await sql`insert into tenants (tenant_id, name, base_currency, created_at) values (${tenant_id}, 'T', 'EUR', now())`;
  await sql`insert into projects (tenant_id, project_id, name) values (${tenant_id}, ${project_id}, 'P')`;
  const send = (send_id: string) => sql`
    insert into message_sends (tenant_id, project_id, send_id, player_id, channel, status, enqueued_at, sent_at, opened_at)
    values (${tenant_id}, ${project_id}, ${send_id}, gen_random_uuid(), 'email', 'opened', now(), '2026-05-01T10:00Z',
      '2026-05-01T11:00Z')`;
  await send(ids.reported);
  await sql`
    insert into mirror_positions (name, epoch, changed_xid, row_id)
    select 'message_feedback', 0, max(changed_xid), 'ffffffff-ffff-ffff-ffff-ffffffffffff' from message_sends
    on conflict (name) do update set changed_xid = excluded.changed_xid, row_id = excluded.row_id`;
  await send(ids.unreported);
  for (const [journey_id, trigger] of [
    [ids.resumed, { kind: 'segment_entered', segment_id, existing_members: true }],
    [ids.changed, { kind: 'event', event: 'login' }],
  ] as const) {
    const written = JSON.stringify(trigger);
    await sql`
      insert into journeys (tenant_id, project_id, journey_id, name, status, trigger, graph, settings, version,
        activated_at, created_at, updated_at)
      values (${tenant_id}, ${project_id}, ${journey_id}, 'J', 'active', ${written}::text::jsonb, '{}', '{}', 1, now(),
        now(), now())`;
    await sql`
      insert into journey_versions (tenant_id, project_id, journey_id, version, trigger, graph, settings, published_at)
      values (${tenant_id}, ${project_id}, ${journey_id}, 1, ${written}::text::jsonb, '{}', '{}', now())`;
    for (const day of ['01', '02']) {
      const occasion = `existing members 2026-05-${day}T10:00:00.000Z`;
      await sql`
        insert into journey_occasions (tenant_id, project_id, journey_id, occasion)
        values (${tenant_id}, ${project_id}, ${journey_id}, ${occasion})`;
      await sql`
        insert into journey_batches (tenant_id, project_id, journey_id, version, occasion, from_player_id, to_player_id)
        values (${tenant_id}, ${project_id}, ${journey_id}, 1, ${occasion}, gen_random_uuid(), gen_random_uuid())`;
    }
  }
}

it('stages that were not reported yet wait to be, and no others', async () => {
  const stages = await earlier.sql<{ send_id: string; stage: string; reached_at: Date }[]>`
    select send_id, stage, reached_at from message_stages order by stage_id`;
  expect(stages).toEqual([
    { send_id: ids.unreported, stage: 'sent', reached_at: new Date('2026-05-01T10:00Z') },
    { send_id: ids.unreported, stage: 'opened', reached_at: new Date('2026-05-01T11:00Z') },
  ]);
  expect(await earlier.sql`select from mirror_positions where name = 'message_feedback'`).toHaveLength(0);
});

it('existing members who entered before do not enter again, and an entry that was interrupted goes on', async () => {
  const { sql } = earlier;
  const name = `existing members of ${segment_id}`;
  const entries = await sql<{ journey_id: string; occasion: string }[]>`
    select journey_id, occasion from journey_occasions`;
  expect(entries).toEqual([{ journey_id: ids.resumed, occasion: name }]);
  const ranges = await sql<{ journey_id: string; occasion: string; members_before: Date }[]>`
    select journey_id, occasion, members_before from journey_batches`;
  const members_before = new Date('2026-05-02T10:00Z');
  expect(ranges).toEqual([{ journey_id: ids.resumed, occasion: name, members_before }]);
});
