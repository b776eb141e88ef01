import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { evaluateOnce } from '../../../processors/segment-refresh/index.ts';
import { waitUntilCaughtUp } from '../../../src/analytics/caught-up.ts';
import { ROLES } from '../../../src/config.ts';
import { runRefreshJob } from '../../../src/segments/refresh-job.ts';
import { sweepWindows } from '../../../src/segments/sweep.ts';
import { publishMembershipChanges } from '../../../src/segments/publish-changes.ts';
import type { Platform } from '../../../src/platform/platform.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { storeSends, type SendFields } from '../campaigns/campaign-fixture.ts';
import { segmentClient, type SegmentClient } from '../../segments/segment-client.ts';

const HOUR_MS = 3_600_000;

let service: TestService;
/** Each test uses a project of its own. */
let client: SegmentClient;
let project: { tenant_id: string; project_id: string };
beforeAll(async () => {
  const driven = ['segment-refresh', 'scheduler', 'messenger'];
  service = await startTestService({ roles: new Set(ROLES.filter((role) => !driven.includes(role))) });
});
beforeEach(async () => {
  const tenant = await service.newTenant();
  project = { tenant_id: tenant.tenant_id, project_id: tenant.project_id };
  client = segmentClient({ ...service, ...tenant });
});
afterAll(async () => service?.close());

const store = (...sends: SendFields[]) => storeSends(service.platform, project, sends);
const caughtUp = () => waitUntilCaughtUp(service.platform, 90_000);
const change = (send_id: string, set: Record<string, unknown>) => {
  const sql = service.platform.postgres.service;
  return sql`update message_sends set ${sql(set)}, changed_xid = pg_current_xact_id() where send_id = ${send_id}`;
};
const rowsOf = (table: string) =>
  service.platform.clickhouse.query<Record<string, unknown>>(
    `select send_id, player_id, status, toUnixTimestamp64Milli(sent_at) as sent_ms from ${table} final
    where project_id = {project_id:UUID} order by send_id`,
    project,
  );
const eventsOf = async (player_id: string) => {
  const { data } = await client.api('GET', `/v1/players/${player_id}/timeline`);
  return data as unknown as { event: string; timestamp: string; properties: Record<string, unknown> }[];
};
const namesOf = async (player_id: string) => (await eventsOf(player_id)).map(({ event }) => event);

describe('messages in ClickHouse', () => {
  it('agree with Postgres once they have left the queue', async () => {
    const [player_id, campaign_id] = [await client.identify(), randomUUID()];
    const sent_at = new Date(Date.now() - HOUR_MS);
    const [queued = '', sent = '', skipped = '', loose = ''] = await store(
      { player_id, campaign_id, status: 'queued', dedup_key: 'a' },
      { player_id, campaign_id, sent_at, dedup_key: 'b' },
      { player_id, campaign_id, status: 'failed', error_code: 'SKIPPED_BANNED', dedup_key: 'c' },
      { player_id, sent_at },
    );
    await caughtUp();
    const of = (send_id: string, status: string, sent_ms: number | null) => {
      return { send_id, player_id, status, sent_ms: sent_ms === null ? null : String(sent_ms) };
    };
    const wanted = [of(sent, 'sent', sent_at.getTime()), of(skipped, 'failed', null)];
    const sorted = (rows: { send_id?: unknown }[]) =>
      rows.sort((a, b) => (String(a.send_id) < String(b.send_id) ? -1 : 1));
    expect(sorted(await rowsOf('campaign_sends'))).toEqual(sorted(wanted));
    expect(sorted(await rowsOf('message_sends'))).toEqual(
      sorted([...wanted, of(loose, 'sent', sent_at.getTime())]),
    );
    await change(queued, { status: 'sent', sent_at });
    await change(sent, { status: 'opened', opened_at: new Date() });
    await caughtUp();
    const after = [
      of(queued, 'sent', sent_at.getTime()),
      of(sent, 'opened', sent_at.getTime()),
      of(skipped, 'failed', null),
    ];
    expect(sorted(await rowsOf('campaign_sends'))).toEqual(sorted(after));
  });

  it('include messages that were committed late', async () => {
    const [player_id, late, early] = [await client.identify(), randomUUID(), randomUUID()];
    const { service: sql } = service.platform.postgres;
    await sql.begin(async (tx) => {
      const row = {
        ...project,
        send_id: late,
        player_id,
        channel: 'email',
        status: 'sent',
        enqueued_at: new Date(),
      };
      await tx`insert into message_sends ${tx(row)}`;
      await store({ send_id: early, player_id, sent_at: new Date() });
      // Long enough for a mirror that ignores open transactions to skip this one.
      await new Promise((resolve) => setTimeout(resolve, 600));
    });
    await caughtUp();
    const found = (await rowsOf('message_sends')).map(({ send_id }) => String(send_id));
    expect(found.toSorted()).toEqual([early, late].toSorted());
  });

  it('belong to the survivor after a merge', async () => {
    const device = randomUUID();
    const former = await client.identify({}, { anonymous_id: device });
    const player_id = await client.identify({}, { external_id: device });
    const [send_id] = await store({ player_id: former, campaign_id: randomUUID(), sent_at: new Date() });
    await caughtUp();
    await client.identify({}, { anonymous_id: device, external_id: device });
    await caughtUp();
    expect(await rowsOf('campaign_sends')).toMatchObject([{ send_id, player_id }]);
    expect(await namesOf(player_id)).toEqual(['email_sent']);
  });
});

describe('the events of messages', () => {
  it('report each stage once, at its time, however often the row changes', async () => {
    const [player_id, campaign_id, variant_id, template_id] = [
      await client.identify(),
      randomUUID(),
      randomUUID(),
      randomUUID(),
    ];
    const at = (minutes: number) => new Date(Date.UTC(2026, 4, 1, 10, minutes));
    const ids = { campaign_id, variant_id, template_id };
    const [send_id = ''] = await store({ player_id, ...ids, sent_at: at(0) });
    await caughtUp();
    expect(await namesOf(player_id)).toEqual(['email_sent']);
    await change(send_id, { status: 'delivered', delivered_at: at(1) });
    await caughtUp();
    await change(send_id, { status: 'clicked', opened_at: at(2), clicked_at: at(3) });
    await caughtUp();
    const properties = { ...ids, send_id };
    const events = await eventsOf(player_id);
    expect(events).toMatchObject([
      { event: 'email_clicked', timestamp: at(3).toISOString(), properties },
      { event: 'email_opened', timestamp: at(2).toISOString(), properties },
      { event: 'email_sent', timestamp: at(0).toISOString(), properties },
    ]);
    // As after a crash: every row is mirrored again.
    await service.platform.postgres
      .service`update mirror_positions set changed_xid = '0' where name = 'message_sends'`;
    await caughtUp();
    expect(await eventsOf(player_id)).toEqual(events);
    const counted = await service.platform.clickhouse.query(
      'select count() as n, countIf(received_at = occurred_at) as same from events final where project_id = {project_id:UUID}',
      project,
    );
    expect(counted).toEqual([{ n: '3', same: '3' }]);
  });

  it('are on the log once, with the change that reached the stage, whatever is reported later', async () => {
    const { eventLog, clickhouse } = service.platform;
    const [player_id, at] = [
      await client.identify(),
      (minutes: number) => new Date(Date.UTC(2026, 4, 1, 10, minutes)),
    ];
    const [send_id = ''] = await store({ player_id, sent_at: at(0) });
    await change(send_id, { status: 'opened', delivered_at: at(1), opened_at: at(9) });
    await caughtUp();
    const ends = await eventLog.endOffsets('player-events');
    // Callbacks come in any order: the row gets the earliest time of each stage, and the stage stays one event.
    await change(send_id, { opened_at: at(5) });
    await change(send_id, { delivered_at: at(0), provider_code: 'x' });
    await caughtUp();
    expect(await eventLog.endOffsets('player-events')).toEqual(ends);
    await change(send_id, { status: 'clicked', clicked_at: at(7) });
    await caughtUp();
    const appended = [...(await eventLog.endOffsets('player-events'))].map(
      ([p, end]) => end - (ends.get(p) ?? 0n),
    );
    expect(appended.reduce((sum, one) => sum + one, 0n)).toBe(1n);
    const counted = await clickhouse.query(
      'select event, count() as n from events final where project_id = {project_id:UUID} group by event order by event',
      project,
    );
    const once = ['email_clicked', 'email_opened', 'email_sent'].map((event) => ({ event, n: '1' }));
    expect(counted).toEqual(once);
  });

  it('are not on the log again when rows are copied again', async () => {
    const { eventLog, postgres } = service.platform;
    const player_id = await client.identify();
    const sent = (dedup_key: string) => ({
      player_id,
      campaign_id: randomUUID(),
      sent_at: new Date(),
      dedup_key,
    });
    await store(sent('a'), sent('b'));
    await caughtUp();
    const ends = await eventLog.endOffsets('player-events');
    // As in a rebuild of ClickHouse; what the mirror copies again before the table is empty would be lost.
    await service.platform.clickhouse.command('truncate table message_sends');
    await postgres.service`update mirror_positions set changed_xid = '0' where name = 'message_sends'`;
    await caughtUp();
    expect(await eventLog.endOffsets('player-events')).toEqual(ends);
    expect(await rowsOf('message_sends')).toHaveLength(2);
    // Later changes are reported as before.
    await store(sent('c'));
    await caughtUp();
    expect(await namesOf(player_id)).toEqual(['email_sent', 'email_sent', 'email_sent']);
  });

  it('have the names of the catalogue, without the events that the client SDK reports itself', async () => {
    const all = {
      sent_at: new Date(),
      opened_at: new Date(),
      clicked_at: new Date(),
      bounced_at: new Date(),
    };
    const names: Record<string, string[]> = {
      email: ['email_bounced', 'email_clicked', 'email_opened', 'email_sent'],
      sms: ['sms_clicked', 'sms_sent'],
      push: ['push_sent'],
    };
    for (const [channel, wanted] of Object.entries(names)) {
      const player_id = await client.identify();
      await store({ player_id, channel, ...all });
      await caughtUp();
      expect((await namesOf(player_id)).toSorted()).toEqual(wanted);
    }
  });

  it('do not exist for messages that were not sent', async () => {
    const player_id = await client.identify();
    await store(
      { player_id, status: 'failed', error_code: 'SKIPPED_BANNED' },
      { player_id, status: 'queued' },
    );
    await caughtUp();
    expect(await namesOf(player_id)).toEqual([]);
  });
});

describe('realtime segments of messages', () => {
  const at = (ahead_ms: number): Platform => ({
    ...service.platform,
    clock: { ...service.platform.clock, now_ms: () => Date.now() + ahead_ms },
  });

  /** Mirrors all changes so far and evaluates the dirty players. */
  async function follow(ahead_ms = 0): Promise<void> {
    await caughtUp();
    await sweepWindows(at(ahead_ms), 0);
    while (await evaluateOnce(at(ahead_ms)));
    while (await publishMembershipChanges(at(ahead_ms)));
  }

  const make = async (condition: Record<string, unknown>) => {
    const conditions = [{ type: 'message', channel: 'email', ...condition }];
    const segment_id = await client.make(conditions, { refresh_strategy: 'realtime' });
    await runRefreshJob(service.platform, { ...project, segment_id });
    return segment_id;
  };

  it('gain the player whom a message reaches', async () => {
    const campaign_id = randomUUID();
    const [player_id, other] = [await client.identify(), await client.identify()];
    const sent = await make({ status: 'sent', campaign_id });
    const opened = await make({ status: 'opened' });
    await follow();
    const [send_id = ''] = await store(
      { player_id, campaign_id, sent_at: new Date() },
      { player_id: other, campaign_id, status: 'failed', error_code: 'SKIPPED_BANNED' },
    );
    await follow();
    expect(await client.segmentsOf(player_id)).toEqual([sent]);
    await change(send_id, { status: 'opened', opened_at: new Date() });
    await follow();
    expect((await client.segmentsOf(player_id)).toSorted()).toEqual([sent, opened].toSorted());
    expect(await client.segmentsOf(other)).toEqual([]);
  });

  it('lose a player when the window passes, and gain one when a future time arrives', async () => {
    const segment = await make({ status: 'opened', window: { last: { hours: 1 } } });
    const [player_id, ahead] = [await client.identify(), await client.identify()];
    const [now_ms, sent_at] = [Date.now(), new Date()];
    const opened = { status: 'opened', sent_at };
    await store(
      { player_id, ...opened, opened_at: new Date(now_ms - HOUR_MS / 2) },
      { player_id: ahead, ...opened, opened_at: new Date(now_ms + HOUR_MS / 4) },
    );
    await follow();
    expect(await client.segmentsOf(player_id)).toEqual([segment]);
    expect(await client.segmentsOf(ahead)).toEqual([]);
    await follow(HOUR_MS / 4 + 5_000);
    expect(await client.segmentsOf(player_id)).toEqual([segment]);
    expect(await client.segmentsOf(ahead)).toEqual([segment]);
    await follow(HOUR_MS / 2 + 5_000);
    expect(await client.segmentsOf(player_id)).toEqual([]);
    expect(await client.segmentsOf(ahead)).toEqual([segment]);
  });

  it('contain the survivor instead of a merged player', async () => {
    const segment = await make({ status: 'sent' });
    const device = randomUUID();
    const former = await client.identify({}, { anonymous_id: device });
    const player_id = await client.identify({}, { external_id: device });
    await store({ player_id: former, sent_at: new Date() });
    await follow();
    expect(await client.segmentsOf(former)).toEqual([segment]);
    await client.identify({}, { anonymous_id: device, external_id: device });
    await until('the survivor is in the segment', async (saw) => {
      await follow();
      return saw(await client.segmentsOf(player_id)).includes(segment);
    });
    await runRefreshJob(service.platform, { ...project, segment_id: segment });
    expect(await client.segmentsOf(player_id)).toEqual([segment]);
    const { data } = await client.api('GET', `/v1/segments/${segment}/explain?player_id=${former}`);
    expect(data).toMatchObject({ player_id, matches: true });
  });
});
