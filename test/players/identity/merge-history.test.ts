import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  markMerges,
  repointEvents,
  tryLockAsRewriter,
  writeAliases,
} from '../../../src/analytics/correction-queries.ts';
import { encodePlayerEvent, playerKey } from '../../../src/ingest/events/envelope.ts';
import { rewriteOnce } from '../../../processors/event-rewriter/index.ts';
import { rebuild } from '../../../src/reconcile/rebuild.ts';
import { call } from '../../engines/http-client.ts';
import { startTestService, sunk, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import {
  ann,
  laptop,
  phone,
  deposit,
  Operator,
  placed,
  session,
  withdrawal,
  type Sent,
  type Who,
} from './operator.ts';

// The events of merged players in ClickHouse: first resolved by an alias, later rewritten to the survivor's id.

let service: TestService;
let operator: Operator;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());
beforeEach(async () => {
  operator = await Operator.open(service);
});

const tablet = { anonymous_id: 'tablet' };

const START_MS = Date.now() - 3_600_000;
/** Events a second apart, so that their order on the timeline is fixed. */
const inOrder = (events: readonly Sent[], from = 0): Sent[] =>
  events.map((event, i) => ({ ...event, timestamp: new Date(START_MS + (from + i) * 1_000).toISOString() }));

/** Sends events and waits until they are in ClickHouse. */
async function land(...events: Sent[]): Promise<void> {
  await operator.send(...events);
  await sunk(service.platform);
}

/** Row counts in ClickHouse under the player's id: events by player, events, mirrored players. */
async function rowsOf(player_id: string): Promise<number[]> {
  const { clickhouse } = service.platform;
  const { tenant_id } = operator.tenant;
  const counts = ['events_by_player final', 'events final', 'players final'].map(async (table) => {
    const [row] = await clickhouse.query<{ rows: string }>(
      `select toString(count()) as rows from ${table}
      where tenant_id = {tenant_id:UUID} and player_id = {player_id:UUID}`,
      { tenant_id, player_id },
    );
    return Number(row?.rows);
  });
  return Promise.all(counts);
}

/** Number of rows under the id in events_by_player, including older revisions. */
async function tracesOf(player_id: string): Promise<number> {
  const [row] = await service.platform.clickhouse.query<{ rows: string }>(
    'select toString(count()) as rows from events_by_player where player_id = {player_id:UUID}',
    { player_id },
  );
  return Number(row?.rows);
}

const idOf = async (ids: object) => (await operator.identify(ids)).player_id;

describe('the history of merged players', () => {
  it('is one from the moment of the merge, before and after ClickHouse is rewritten', async () => {
    const events = [session(phone), deposit(phone, 't-1', 100), session(laptop), deposit(laptop, 't-2', 20)];
    await land(...inOrder(events));
    const [merged_id, player_id] = [await idOf(laptop), await idOf({ ...phone, ...ann })];
    await operator.identify({ ...laptop, ...ann });
    const look = async () => {
      const seen: unknown[] = [];
      for (const id of [player_id, merged_id, merged_id.toUpperCase()]) {
        seen.push([await operator.timeline(id), await operator.depositedLately(id)]);
      }
      return seen;
    };
    const whole = [['deposit_confirmed', 'session_start', 'deposit_confirmed', 'session_start'], 120];
    expect(await look()).toEqual([whole, whole, whole]);
    expect(await operator.differences()).toEqual([]);
    // The old rows still exist, and an alias resolves them.
    expect(await rowsOf(merged_id)).toEqual([2, 2, 0]);
    expect(await look()).toEqual([whole, whole, whole]);
    await operator.rewrite();
    expect(await rowsOf(merged_id)).toEqual([0, 0, 0]);
    expect(await tracesOf(merged_id)).toBe(0);
    expect(await rowsOf(player_id)).toEqual([4, 4, 1]);
    expect(await look()).toEqual([whole, whole, whole]);
    expect(await operator.differences()).toEqual([]);
    const aliases = await service.platform.clickhouse.query(
      'select * from player_aliases final where tenant_id = {tenant_id:UUID}',
      { tenant_id: operator.tenant.tenant_id },
    );
    expect(aliases).toEqual([]);
  });

  it('continues under every id after ClickHouse was rewritten', async () => {
    await land(...inOrder([deposit(phone, 't-1', 100), deposit(laptop, 't-2', 20)]));
    const merged_id = await idOf(laptop);
    const player_id = await idOf({ ...phone, ...ann });
    await operator.identify({ ...laptop, ...ann });
    await operator.rewrite();
    await land(
      ...inOrder(
        [deposit(laptop, 't-3', 3), session({ player_id: merged_id }), deposit(laptop, 't-2', 20)],
        10,
      ),
    );
    expect(await operator.timeline(player_id)).toEqual([
      'session_start',
      'deposit_confirmed',
      'deposit_confirmed',
      'deposit_confirmed',
    ]);
    expect(await operator.depositedLately(merged_id)).toBe(123);
    expect(await tracesOf(merged_id)).toBe(0);
    expect(await operator.differences()).toEqual([]);
  });

  it('is paged as one, even by a cursor from before the rewrite', async () => {
    const events = Array.from({ length: 12 }, (_, i) => ({
      ...session(i % 3 === 0 ? laptop : phone),
      event: `custom_${i}`,
    }));
    await land(...inOrder(events));
    const merged_id = await idOf(laptop);
    const player_id = await idOf({ ...phone, ...ann });
    await operator.identify({ ...laptop, ...ann });
    const page = (id: string, suffix: string) => {
      const url = `${service.base_url}/v1/players/${id}/timeline?limit=5${suffix}`;
      return call<{ event: string }[]>(url, operator.tenant.session_token);
    };
    const newestFirst = events.map(({ event }) => event).reverse();
    for (const id of [player_id, merged_id]) {
      const first = await page(id, '');
      if (id === merged_id) await operator.rewrite();
      const second = await page(id, `&cursor=${first.next_cursor}`);
      const third = await page(id, `&cursor=${second.next_cursor}`);
      expect(third.meta.next_cursor).toBeNull();
      expect([first, second, third].flatMap(({ data }) => data.map(({ event }) => event))).toEqual(
        newestFirst,
      );
    }
  });

  it('never lacks or repeats an event while ClickHouse is being rewritten', async () => {
    const many = (who: Who, name: string) =>
      Array.from({ length: 40 }, (_, i) => deposit(who, `${name}-${i}`, 1));
    await land(...inOrder(many(phone, 'p')), ...inOrder(many(laptop, 'l'), 40));
    const merged_id = await idOf(laptop);
    const player_id = await idOf({ ...phone, ...ann });
    await operator.identify({ ...laptop, ...ann });
    const rewriting = { isDone: false };
    const rewritten = operator.rewrite().finally(() => (rewriting.isDone = true));
    let looks = 0;
    while (!rewriting.isDone) {
      const id = looks++ % 2 === 0 ? player_id : merged_id;
      const [timeline, deposited] = await Promise.all([operator.timeline(id), operator.depositedLately(id)]);
      expect(timeline).toHaveLength(80);
      expect(deposited).toBe(80);
    }
    await rewritten;
    expect(looks).toBeGreaterThan(1);
  });

  it('is complete when ClickHouse answers before the rewrite and Postgres after it', async () => {
    // On a busy machine the reads may wait for the lock for longer than they may, and are refused.
    await until(async (saw) => {
      operator = saw(await Operator.open(service));
      const answer = saw(await readAroundRewrite());
      if (answer === 'refused') return false;
      expect(answer).toEqual([['deposit_confirmed', 'deposit_confirmed'], 120]);
      return true;
    });
  });

  /** What the timeline and the deposits answer that ask ClickHouse before a rewrite and Postgres after it. */
  async function readAroundRewrite(): Promise<[string[], number] | 'refused'> {
    await land(...inOrder([deposit(phone, 't-1', 100), deposit(laptop, 't-2', 20)]));
    const merged_id = await idOf(laptop);
    const player_id = await idOf({ ...phone, ...ann });
    await operator.identify({ ...laptop, ...ann });
    await operator.differences();
    const { postgres, clickhouse } = service.platform;
    const { tenant_id, project_id } = operator.tenant;
    let is_refused = false;
    let pending: Promise<[string[], number] | 'refused'> = Promise.resolve('refused');
    await postgres.service.begin(async (tx) => {
      await tx`lock table player_merges in access exclusive mode`;
      pending = Promise.all([operator.timeline(player_id), operator.depositedLately(player_id)]).catch(() => {
        is_refused = true;
        return 'refused';
      });
      await until('both wait for Postgres', async (saw) => {
        const [row] = saw(
          await tx<{ waiting: bigint }[]>`
          select count(*) as waiting from pg_locks
          where relation = 'player_merges'::regclass and not granted
            and database = (select oid from pg_database where datname = current_database())`,
        );
        return (row?.waiting ?? 0n) >= 2n || is_refused;
      });
      // The embedded engine runs queries one after the other, so the pending queries have ended when this one ends.
      const merge = { tenant_id, project_id, player_id: merged_id, into_player_id: player_id };
      await repointEvents(clickhouse, [merge], () => Promise.resolve());
      await tx`update player_merges set rewritten_at = now() where tenant_id = ${tenant_id}`;
    });
    return pending;
  }
});

describe('a chain of merges', () => {
  /** Sends deposits of three devices; returns the ids of their players. */
  async function threeVisitors(): Promise<[string, string, string]> {
    await land(
      ...inOrder([deposit(phone, 't-1', 1), deposit(laptop, 't-2', 20), deposit(tablet, 't-3', 300)]),
    );
    return [await idOf(phone), await idOf(laptop), await idOf(tablet)];
  }
  const merge = (anonymous: object, player_id: string) => operator.identify({ ...anonymous, player_id });

  it.each(['never', 'in between', 'in the end', 'in between and in the end'])(
    'is one history when ClickHouse is rewritten %s',
    async (when) => {
      const [a, b, c] = await threeVisitors();
      await merge(phone, b);
      if (when.startsWith('in between')) await operator.rewrite();
      else await until('the first alias is there', aliased);
      await merge(laptop, c);
      if (when.endsWith('in the end')) await operator.rewrite();
      for (const id of [a, b, c]) {
        expect(await operator.timeline(id)).toHaveLength(3);
        expect(await operator.depositedLately(id)).toBe(321);
      }
      expect(await operator.differences()).toEqual([]);
      const left = (id: string) => Promise.all([tracesOf(id), rowsOf(id)]);
      if (when.endsWith('in the end')) {
        expect([await left(a), await left(b)]).toEqual([
          [0, [0, 0, 0]],
          [0, [0, 0, 0]],
        ]);
        expect(await rowsOf(c)).toEqual([3, 3, 1]);
      }
    },
  );

  async function aliased(): Promise<boolean> {
    const rows = await service.platform.postgres.service`
      select from player_merges where tenant_id = ${operator.tenant.tenant_id} and aliased_at is null`;
    return rows.length === 0;
  }

  it('is one history when a survivor is merged again while ClickHouse is being rewritten', async () => {
    for (let round = 0; round < 3; round++) {
      operator = await Operator.open(service);
      const [a, b, c] = await threeVisitors();
      await merge(phone, b);
      await until('the first alias is there', aliased);
      await Promise.all([rewriteOnce(service.platform, 0), merge(laptop, c)]);
      expect(await operator.differences()).toEqual([]);
      for (const id of [a, b, c]) expect(await operator.depositedLately(id)).toBe(321);
      await operator.rewrite();
      expect([await tracesOf(a), await tracesOf(b)]).toEqual([0, 0]);
      expect(await operator.differences()).toEqual([]);
    }
  });
});

describe('the rewriter', () => {
  it('can repeat its work after a crash half-way', async () => {
    await land(
      ...inOrder([deposit(phone, 't-1', 1), withdrawal(laptop, 't-2', 20), placed(laptop, 'b-1', 300)]),
    );
    const merged_id = await idOf(laptop);
    const player_id = await idOf({ ...phone, ...ann });
    await operator.identify({ ...laptop, ...ann });
    const sql = service.platform.postgres.service;
    const { tenant_id } = operator.tenant;
    for (let round = 0; round < 3; round++) {
      await operator.rewrite();
      expect(await operator.timeline(player_id)).toEqual([
        'bet_placed',
        'withdrawal_confirmed',
        'deposit_confirmed',
      ]);
      expect(await tracesOf(merged_id)).toBe(0);
      expect(await operator.differences()).toEqual([]);
      // As after a crash between the rewrite in ClickHouse and the mark in Postgres, in round 0 even before the alias
      // was marked.
      await sql`
        update player_merges set rewritten_at = null, aliased_at = ${round === 0 ? null : new Date()}
        where tenant_id = ${tenant_id}`;
    }
    await operator.rewrite();
  });

  it('repeats its work after ClickHouse was rebuilt', async () => {
    await land(...inOrder([deposit(phone, 't-1', 1), deposit(laptop, 't-2', 20)]));
    const merged_id = await idOf(laptop);
    const player_id = await idOf({ ...phone, ...ann });
    await operator.identify({ ...laptop, ...ann });
    for (let round = 0; round < 2; round++) {
      await operator.rewrite();
      expect((await rowsOf(player_id)).slice(0, 2)).toEqual([2, 2]);
      expect(await tracesOf(merged_id)).toBe(0);
      const { tenant_id, project_id } = operator.tenant;
      const projects = new Map([['', { tenant_id, project_id }]]);
      const catchUp = () => sunk(service.platform);
      await service.platform.postgres.patientSession((session) =>
        rebuild({ engines: service.platform, session, catchUp }, new Map([['events', projects]])),
      );
    }
    await operator.rewrite();
    expect((await rowsOf(player_id)).slice(0, 2)).toEqual([2, 2]);
    expect(await operator.differences()).toEqual([]);
  });

  it('waits for events that were folded before the merge and are not in ClickHouse yet', async () => {
    for (let round = 0; round < 5; round++) {
      operator = await Operator.open(service);
      const merged_id = await idOf(laptop);
      const player_id = await idOf({ ...phone, ...ann });
      await operator.fold(deposit(laptop, 't-1', 20));
      await operator.identify({ ...laptop, ...ann });
      await operator.rewrite();
      expect(await operator.depositedLately(player_id)).toBe(20);
      expect(await tracesOf(merged_id)).toBe(0);
      expect(await operator.differences()).toEqual([]);
    }
  });

  /** Emits an event of the player again, as a fold does that was wrongly considered dead. */
  async function repeat(
    sent: Sent,
    ids: { player_id: string; ingestion_id: string },
    base_amount: bigint | null,
  ) {
    const { tenant_id, project_id } = operator.tenant;
    const at_ms = Date.parse(String(sent.timestamp));
    const value = encodePlayerEvent({
      tenant_id,
      project_id,
      event: sent.event,
      ...ids,
      event_index: 0,
      occurred_at: at_ms,
      received_at: at_ms,
      base_amount,
      base_payout: null,
      properties: sent.properties ?? {},
    });
    const { eventLog } = service.platform;
    await eventLog.append('player-events', [{ key: playerKey(project_id, ids.player_id), value }]);
    await sunk(service.platform);
  }

  it('wins over an event that is emitted again under the old id', async () => {
    const [sent = session(laptop)] = inOrder([deposit(laptop, 't-1', 20)]);
    const ingestion_id = await operator.send(sent);
    await sunk(service.platform);
    const merged_id = await idOf(laptop);
    const player_id = await idOf({ ...phone, ...ann });
    await operator.identify({ ...laptop, ...ann });
    await operator.rewrite();
    await repeat(sent, { player_id: merged_id, ingestion_id }, 20n);
    expect(await operator.timeline(player_id)).toEqual(['deposit_confirmed']);
    expect(await operator.depositedLately(merged_id)).toBe(20);
    expect(await operator.differences()).toEqual([]);
  });

  it('keeps the amount of an event that was emitted again under the new id and converted since', async () => {
    const [sent = session(laptop)] = inOrder([deposit(laptop, 't-1', 200, 'SEK')]);
    const ingestion_id = await operator.send(sent);
    await sunk(service.platform);
    const player_id = await idOf({ ...phone, ...ann });
    await operator.identify({ ...laptop, ...ann });
    // The fold died before it committed the batch, and the next fold resolves the event to the survivor.
    await repeat(sent, { player_id, ingestion_id }, null);
    await service.platform.postgres.service`
      insert into fx_rates (tenant_id, base, quote, ts, rate)
      values (${operator.tenant.tenant_id}, 'EUR', 'SEK', ${new Date(START_MS - 1_000)}, 10)`;
    expect(await operator.differences()).toEqual([]);
    expect(await operator.depositedLately(player_id)).toBe(20);
    await operator.rewrite();
    expect(await operator.differences()).toEqual([]);
    expect(await operator.depositedLately(player_id)).toBe(20);
  });

  it.each(['aliased_at', 'rewritten_at'] as const)(
    'notices that a survivor is merged again before %s is set',
    async (column) => {
      await land(
        ...inOrder([deposit(phone, 't-1', 1), deposit(laptop, 't-2', 20), deposit(tablet, 't-3', 300)]),
      );
      const [a, b, c] = [await idOf(phone), await idOf(laptop), await idOf(tablet)];
      const { clickhouse, postgres } = service.platform;
      const sql = postgres.service;
      const merge = { ...operator.tenant, player_id: a, into_player_id: b };
      if (column === 'rewritten_at') {
        await operator.identify({ ...phone, player_id: b });
        expect(await operator.differences()).toEqual([]);
      }
      await postgres.session(async (session) => {
        // The test holds the rewriter's lock, so the service's own rewriter waits.
        await until('the place of the rewriter is free', async (saw) =>
          saw(await tryLockAsRewriter(session)),
        );
        if (column === 'aliased_at') {
          await operator.identify({ ...phone, player_id: b });
          await writeAliases(sql, clickhouse, [merge], 0);
        } else {
          await repointEvents(clickhouse, [merge], () => Promise.resolve());
          await writeAliases(sql, clickhouse, [merge], 1);
        }
        await operator.identify({ ...laptop, player_id: c });
        await markMerges(sql, [merge], column);
      });
      expect(await operator.differences()).toEqual([]);
      for (const id of [a, b, c]) expect(await operator.depositedLately(id)).toBe(321);
      await operator.rewrite();
      expect([await tracesOf(a), await tracesOf(b)]).toEqual([0, 0]);
      expect(await operator.differences()).toEqual([]);
    },
  );

  it('does not touch rows of other tenants that have the same ids', async () => {
    await land(...inOrder([deposit(phone, 't-1', 1), deposit(laptop, 't-2', 20)]));
    const merged_id = await idOf(laptop);
    const stranger = await Operator.open(service);
    // The service never creates such a row: an event of another tenant with the player_id of the merged player.
    const foreign = {
      tenant_id: stranger.tenant.tenant_id,
      project_id: stranger.tenant.project_id,
      event: 'login',
      player_id: merged_id,
      occurred_at: START_MS,
      received_at: START_MS,
      ingestion_id: merged_id,
      event_index: 0,
      properties: {},
    };
    await service.platform.clickhouse.insertLines(
      'events',
      [JSON.stringify(foreign)],
      `foreign-${merged_id}`,
    );
    await operator.identify({ ...phone, ...ann });
    await operator.identify({ ...laptop, ...ann });
    expect(await operator.differences()).toEqual([]);
    await operator.rewrite();
    expect(await tracesOf(merged_id)).toBe(1);
    const rows = await service.platform.clickhouse.query(
      'select tenant_id from events final where player_id = {merged_id:UUID}',
      { merged_id },
    );
    expect(rows).toEqual([{ tenant_id: stranger.tenant.tenant_id }]);
  });
});
