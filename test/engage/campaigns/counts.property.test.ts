import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SEND_STATUSES } from '../../../src/analytics/message-status.ts';
import { selectMissing, selectStagesByTime } from '../../../src/engage/campaigns/counts-queries.ts';
import { CampaignCounts, ensureCounted } from '../../../src/engage/campaigns/counts.ts';
import { requeueUnavailable } from '../../../src/engage/campaigns/retry-failed-queries.ts';
import { findCampaign } from '../../../src/engage/campaigns/read.ts';
import { applyCallbacks, type Step } from '../../../src/engage/messaging/callbacks/callback-queries.ts';
import { giveUpAbandoned } from '../../../src/engage/messaging/messenger-queries.ts';
import { messageEraser, messagesOfPlayers } from '../../../src/engage/messaging/player-queries.ts';
import { migratePostgres } from '../../../src/platform/postgres/migrate.ts';
import { connectPool, openPostgres } from '../../../src/platform/postgres/pool.ts';
import type { Db, Postgres, Tx } from '../../../src/platform/postgres/port.ts';
import { runs } from '../../engines/effort.ts';
import type { TestPostgres } from '../../engines/shared-postgres.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

// What reports read is at every moment what a recount of all messages finds, whatever becomes of the messages, by how many
// writers at once.

const HOUR_S = 3_600;
const BEGIN = Date.UTC(2026, 4, 1, 10);
const CODES = ['SKIPPED_QUIET_HOURS', 'PROVIDER_UNAVAILABLE', 'OUTCOME_UNKNOWN'] as const;
const TIMES = [
  'sent_at',
  'delivered_at',
  'opened_at',
  'machine_opened_at',
  'clicked_at',
  'bounced_at',
] as const;
const PLAYERS = Array.from({ length: 4 }, () => randomUUID());
const VARIANTS = [randomUUID(), randomUUID(), null];

let server: TestPostgres;
let owner: Db;
let postgres: Postgres;
let counting: CampaignCounts;
beforeAll(async () => {
  server = await openTestPostgres({ prepared: true, own: true });
  owner = connectPool(server.url);
  await migratePostgres(owner);
  postgres = openPostgres(server.url);
  counting = new CampaignCounts({ postgres, clock: { now_ms: Date.now }, logger: { warn: () => undefined } });
});
afterAll(async () => {
  await postgres?.close();
  await owner?.end({ timeout: 5 });
  await server?.close();
});

const moment = fc.tuple(fc.nat(5), fc.nat(59), fc.nat(59_999)).map(([hours, minutes, ms]) => {
  return new Date(BEGIN + hours * 3_600_000 + minutes * 60_000 + ms);
});
const state = fc.record({
  status: fc.constantFrom(...SEND_STATUSES),
  error_code: fc.option(fc.constantFrom(...CODES), { freq: 2 }),
  ...(Object.fromEntries(TIMES.map((name) => [name, fc.option(moment)])) as Record<
    (typeof TIMES)[number],
    fc.Arbitrary<Date | null>
  >),
});
type Drawn<A> = A extends fc.Arbitrary<infer T> ? T : never;
const player = fc.constantFrom(...PLAYERS);
const message = fc.record({ of: fc.nat(2), player, variant: fc.constantFrom(...VARIANTS), state });
type Message = Drawn<typeof message>;
const step = fc.constantFrom<Step>('sent', 'delivered', 'opened', 'clicked', 'bounced', 'failed');
const act = fc.oneof(
  fc.record({
    does: fc.constant('insert' as const),
    messages: fc.array(message, { minLength: 1, maxLength: 5 }),
  }),
  fc.record({ does: fc.constant('change' as const), player, state }),
  fc.record({ does: fc.constant('report' as const), reports: fc.array(fc.tuple(fc.nat(30), step, moment)) }),
  fc.record({ does: fc.constant('merge' as const), player, into: player }),
  fc.record({ does: fc.constantFrom('erase' as const, 'remove' as const), player }),
  fc.record({ does: fc.constantFrom('give up' as const, 'requeue' as const) }),
  fc.record({ does: fc.constant('count' as const) }),
);
type Act = Drawn<typeof act>;

it('counts of campaigns are those of a recount, after anything that becomes of their messages', async () => {
  const history = fc.record({
    before: fc.array(message, { maxLength: 12 }),
    lanes: fc.array(fc.array(act, { maxLength: 12 }), { minLength: 1, maxLength: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(history, async ({ before, lanes }) => {
      const world = await makeWorld(before);
      await Promise.all(
        lanes.map(async (lane) => {
          for (const one of lane) await world.run(one);
        }),
      );
      for (const ref of world.campaigns) {
        await world.count();
        expect(await figuresOf(ref)).toEqual(await recountOf(ref));
        expect(await postgres.countAsTenant(ref.tenant_id, (tx) => selectMissing(tx, ref))).toEqual([]);
      }
    }),
    { numRuns: runs(100) },
  );
}, 300_000);

it('wrong counts are repaired by the next report after their campaign is marked', async () => {
  const [messages] = fc.sample(fc.array(message, { minLength: 12, maxLength: 12 }), 1);
  const { campaigns, count } = await makeWorld(messages ?? []);
  await count();
  for (const ref of campaigns) {
    const right = await recountOf(ref);
    const ofCampaign = owner`where tenant_id = ${ref.tenant_id} and campaign_id = ${ref.campaign_id}`;
    await owner`update campaign_counts set messages = 2 * messages ${ofCampaign}`;
    await owner`
      insert into campaign_counts (tenant_id, project_id, campaign_id, counted, variant_id, at, messages)
      values (${ref.tenant_id}, ${ref.project_id}, ${ref.campaign_id}, 'clicked', gen_random_uuid(), ${new Date(BEGIN)}, 3)`;
    expect(await figuresOf(ref)).not.toEqual(right);
    await postgres.service.begin((tx) => tx`update campaigns set is_counted = false ${ofCampaign}`);
    expect(await figuresOf(ref)).toEqual(right);
  }
});

/** Two campaigns, the first with messages from before they were counted, and a journey. */
async function makeWorld(before: readonly Message[]) {
  const [tenant_id, project_id, provider_id] = [randomUUID(), randomUUID(), randomUUID()];
  const campaigns = [0, 1].map(() => ({ tenant_id, project_id, campaign_id: randomUUID() }));
  const send_ids: string[] = [];
  const insert = async (tx: Tx, messages: readonly Message[]) => {
    const rows = messages.map(({ of, player: player_id, variant, state: fields }) => {
      const send_id = randomUUID();
      send_ids.push(send_id);
      const ref = campaigns[of]?.campaign_id ?? null;
      const ids = {
        tenant_id,
        project_id,
        send_id,
        campaign_id: ref,
        player_id,
        variant_id: variant,
        provider_id,
      };
      return { ...ids, channel: 'email', enqueued_at: new Date(BEGIN), recipient: 'a@b.c', ...fields };
    });
    await tx`insert into message_sends ${tx(rows)} on conflict do nothing`;
  };
  await owner.begin(async (tx) => {
    // Without the rows that these refer to, and without triggers.
    await tx`set local session_replication_role = replica`;
    for (const [i, ref] of campaigns.entries()) {
      await tx`
        insert into campaigns (tenant_id, project_id, campaign_id, name, type, channel, status, created_at, updated_at,
          is_counted)
        values (${tenant_id}, ${project_id}, ${ref.campaign_id}, 'c', 'broadcast', 'email', 'sent', now(), now(), ${i > 0})`;
    }
    if (before.length > 0)
      await insert(
        tx,
        before.map((one) => ({ ...one, of: 0 })),
      );
  });
  const count = async () => {
    for (const ref of campaigns) await ensureCounted(postgres, ref);
  };
  const write = async (one: Exclude<Act, { does: 'count' }>, tx: Tx): Promise<unknown> => {
    switch (one.does) {
      case 'insert':
        return insert(tx, one.messages);
      case 'change':
        return tx`update message_sends set ${tx(one.state)} where player_id = ${one.player}
          and tenant_id = ${tenant_id}`;
      case 'report':
        return applyCallbacks(
          tx,
          { tenant_id, provider_id },
          one.reports.map(([n, reported, at]) => ({
            send_id: send_ids[n % send_ids.length] ?? null,
            provider_message_id: null,
            address: null,
            step: reported,
            suppression: null,
            lifts: false,
            is_machine_open: reported === 'delivered',
            fault: null,
            at_ms: at.getTime(),
          })),
          new Date(),
        );
      case 'merge': {
        const pair = { tenant_id, project_id, player_id: one.player, into_player_id: one.into };
        return one.player === one.into ? undefined : messagesOfPlayers.onMerge(tx, pair, new Date());
      }
      case 'erase': {
        const person = { tenant_id, project_id, player_ids: [one.player], erasure_id: randomUUID() };
        return messageEraser.erase(tx, person, 100);
      }
      case 'remove':
        return tx`delete from message_sends where player_id = ${one.player} and tenant_id = ${tenant_id}`;
      case 'give up':
        return giveUpAbandoned(tx);
      case 'requeue':
        return Promise.all(campaigns.map((ref) => requeueUnavailable(tx, ref, new Date())));
    }
  };
  const run = async (one: Act) => {
    if (one.does === 'count') return count();
    try {
      await postgres.service.begin((tx) => write(one, tx));
    } catch (error) {
      // Writers that lock the same messages in another order: nothing is written, and nothing counted. Twins after a merge
      // have one key.
      if (!['40P01', '23505'].includes((error as { code?: string }).code ?? '')) throw error;
    }
  };
  return { campaigns, count, run };
}

type Ref = Awaited<ReturnType<typeof makeWorld>>['campaigns'][number];

async function figuresOf(ref: Ref) {
  const counts = await counting.of(ref, await findCampaign(postgres, ref));
  const stages = await postgres.readAsTenant(ref.tenant_id, (tx) => selectStagesByTime(tx, ref, HOUR_S));
  return { counts, stages: inOrder(stages.map(({ at_ms, stage, messages }) => [stage, at_ms, messages])) };
}

/** What reports show, by the definition of each figure, counted anew. */
async function recountOf({ tenant_id, campaign_id }: Ref) {
  const ofCampaign = owner`from message_sends where tenant_id = ${tenant_id} and campaign_id = ${campaign_id}`;
  const [funnel] = await owner<Record<string, bigint>[]>`
    select count(*) as recipients_total,
      count(*) filter (where sent_at is not null
        or status in ('sent', 'delivered', 'opened', 'clicked', 'bounced')) as sent,
      count(*) filter (where delivered_at is not null or opened_at is not null or clicked_at is not null
        or status in ('delivered', 'opened', 'clicked')) as delivered,
      count(*) filter (where opened_at is not null or clicked_at is not null
        or status in ('opened', 'clicked')) as opened,
      count(*) filter (where clicked_at is not null or status = 'clicked') as clicked,
      count(machine_opened_at) as machine_opened,
      count(*) filter (where bounced_at is not null or status = 'bounced') as bounced,
      count(*) filter (where status = 'failed') as failed,
      count(*) filter (where status = 'capped') as capped
    ${ofCampaign}`;
  const codes = await owner<{ error_code: string; messages: bigint }[]>`
    select error_code, count(*) as messages ${ofCampaign} and error_code is not null group by error_code`;
  const stages = await owner<{ stage: string; at_ms: bigint; messages: bigint }[]>`
    select stage, epoch_ms(date_trunc('hour', at, 'UTC')) as at_ms, count(*) as messages
    from (select sent_at, delivered_at, opened_at, clicked_at ${ofCampaign}) s
    cross join lateral (values ('sent', sent_at), ('delivered', delivered_at), ('opened', opened_at), ('clicked', clicked_at))
      t (stage, at)
    where at is not null group by 1, 2`;
  const counts = [
    ...Object.entries(funnel ?? {}),
    ...codes.map((one) => [one.error_code, one.messages] as const),
  ];
  return {
    counts: Object.fromEntries(counts.filter(([, n]) => n > 0n).map(([name, n]) => [name, Number(n)])),
    stages: inOrder(stages.map(({ stage, at_ms, messages }) => [stage, at_ms, messages])),
  };
}

function inOrder(rows: readonly (readonly unknown[])[]): string[] {
  return rows.map((row) => row.join(' ')).sort();
}
