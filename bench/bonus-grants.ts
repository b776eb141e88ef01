import { Agent } from 'node:http';
import { reported } from '../src/bonuses/grants/conclude.ts';
import { Conclusions } from '../src/bonuses/grants/conclusions.ts';
import { answerTo } from '../src/bonuses/grants/create.ts';
import type { GrantRow } from '../src/bonuses/grants/grant-row.ts';
import { Intents } from '../src/bonuses/grants/intents.ts';
import type { GrantRequest } from '../src/bonuses/grants/issue.ts';
import { newId } from '../src/platform/ids.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import { createAuditWriter } from '../src/tenants/audit/write.ts';
import type { TestService } from '../test/engines/service.ts';
import { GIFT_BASE, makeTemplate } from './bonus-client.ts';
import {
  countGrantsOf,
  insertBare,
  readStored,
  selectNewcomers,
  type StoredGrant,
} from './bonus-seed-queries.ts';
import { startBenchServer } from './child.ts';
import { callAll, postJson } from './http-calls.ts';
import type { Caller } from './journey-client.ts';
import {
  alternate,
  median,
  percentile,
  perSecond,
  ratios,
  result,
  timed,
  type Result,
  type Sample,
} from './measure.ts';
import { postgresUrlOf } from './platform.ts';
import { insertPlayers } from './seed-queries.ts';

const PLAYERS = 20_000;
const AT_ONCE = 8;
const ROUNDS = 5;
/** Grants of one run; every run has players of its own. */
const GRANTS = 500;
const POSTS = 1_500;
const CONNECTIONS = 32;

/**
 * What granting a bonus costs without HTTP and without the platform's call, against one transaction of one statement
 * that inserts the rows of the grant and of its history; then the endpoint as a whole, over the built-in sandbox.
 */
export async function benchBonusGrants(service: TestService): Promise<Result[]> {
  return [...(await ownPart(service)), ...(await wholePosts())];
}

async function ownPart(service: TestService): Promise<Result[]> {
  const owner = connectPool(postgresUrlOf(service.platform), { max: 1 });
  try {
    const template_ids: string[] = [];
    for (let i = 0; i < AT_ONCE; i++) {
      template_ids.push(await makeTemplate(service, { budget_base: PLAYERS * GIFT_BASE }));
    }
    await insertPlayers(owner, service, PLAYERS);
    await owner`vacuum analyze players, player_totals`;
    const players = await selectNewcomers(owner, service, PLAYERS);
    const own = ownPartOf(service, template_ids.slice(0, 1));
    const spread = ownPartOf(service, template_ids);
    const stored = await readStored(owner, (await own.whole(players.pop() ?? '')).grant_id);
    const bare = (player_id: string) => own.bare(stored, player_id);
    const run = (grant: (player_id: string) => Promise<unknown>) => () => runOf(players, grant);
    const wholes = await alternate(
      ROUNDS,
      run((id) => own.whole(id)),
      run(bare),
    );
    const intents = await alternate(
      ROUNDS,
      run((id) => own.intend(id)),
      run(bare),
    );
    const spreads = await alternate(
      ROUNDS,
      run((id) => spread.whole(id)),
      run(bare),
    );
    await check(owner, template_ids, PLAYERS - players.length);
    const rate = (pairs: typeof wholes, side: 'a' | 'b') =>
      median(pairs.map((p) => perSecond(p[side]))).toFixed(0);
    const note = (pairs: typeof wholes) =>
      `${rate(pairs, 'a')} against ${rate(pairs, 'b')} per second, ${AT_ONCE} at once, ${GRANTS} fresh players of ${PLAYERS} per run`;
    return [
      result(
        'bonus grant, own part ÷ bare insert',
        ratios(wholes, perSecond),
        { at_least: 0.5 },
        note(wholes),
      ),
      result(
        'bonus grant, its intent alone ÷ bare insert',
        ratios(intents, perSecond),
        { at_least: 0 },
        `informative: ${note(intents)}`,
      ),
      result(
        `bonus grant, own part, of ${AT_ONCE} templates ÷ bare insert`,
        ratios(spreads, perSecond),
        { at_least: 0 },
        `informative, what waiting for the row of one budget costs: ${note(spreads)}`,
      ),
    ];
  } finally {
    await owner.end({ timeout: 5 });
  }
}

/** Grants to the next players of the list. */
function runOf(players: string[], grant: (player_id: string) => Promise<unknown>): Promise<Sample> {
  const mine = players.splice(0, GRANTS);
  if (mine.length < GRANTS) throw new Error('there are no players left');
  return timed(async () => {
    const left = mine.values();
    const lane = async () => {
      for (const player_id of left) await grant(player_id);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    return GRANTS;
  });
}

/** The transactions of the endpoint, as it runs them, and the bare one. The templates take turns. */
function ownPartOf({ platform, tenant_id, project_id }: TestService, template_ids: readonly string[]) {
  const { postgres, clock } = platform;
  const project = { tenant_id, project_id };
  const session = { user_id: 'bench', role: 'owner' } as const;
  const call = { resource: 'bonus_grant', action: 'create', session, request_id: 'bench' } as const;
  const intents = new Intents({ ...platform, writeAuditRows: createAuditWriter(clock) });
  const conclusions = new Conclusions(platform, answerTo);
  let turn = 0;
  const requestOf = (player_id: string): GrantRequest => ({
    template_id: template_ids[turn++ % template_ids.length] ?? '',
    player_id,
    granted_by_kind: 'manual',
    granted_by_id: null,
    granted_by_user: 'bench',
    deposit_amount: null,
    deposit_transaction_id: null,
    amount_override: null,
    currency_override: null,
    qualifying_product: null,
  });
  const intend = async (player_id: string): Promise<GrantRow> => {
    const request = requestOf(player_id);
    const intended = await intents.intend({
      project,
      request,
      platform: { slug: 'sandbox' },
      loss: {},
      call,
      key: undefined,
    });
    if ('before' in intended) throw new Error('a grant without a key was answered before');
    return intended.intent;
  };
  return {
    intend,
    async whole(player_id: string): Promise<GrantRow> {
      const claimed = await intend(player_id);
      const now = new Date(clock.now_ms());
      const conclusion = reported(claimed.grant_id, now, 'bonus.credited', { platform_bonus_id: newId() });
      const answer = await conclusions.conclude({ claimed, conclusion, key: undefined });
      if (typeof answer !== 'string') throw answer;
      return claimed;
    },
    bare: (stored: StoredGrant, player_id: string) =>
      postgres.asTenant(tenant_id, (tx) => insertBare(tx, stored, { grant_id: newId(), player_id })),
  };
}

/** Every player has one grant, and the budgets hold what those cost that were granted by the service. */
async function check(owner: Db, template_ids: readonly string[], expected: number): Promise<void> {
  const { grants, players, active, intended, budget } = await countGrantsOf(owner, template_ids);
  const runs = ROUNDS + 1;
  const by_service = BigInt(1 + 3 * runs * GRANTS) * BigInt(GIFT_BASE);
  if (grants !== expected || players !== expected || intended !== runs * GRANTS || budget !== by_service) {
    throw new Error(`${grants} grants (${active} active) of ${players} players cost ${budget}`);
  }
}

/** The endpoint over HTTP, on a service with every role in its own process. */
async function wholePosts(): Promise<Result[]> {
  const server = await startBenchServer('service', { BENCH_ROLES: 'all' });
  const target = server.ready as Caller & Record<string, string>;
  const owner = connectPool(target['postgres_url'] ?? '', { max: 1 });
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  try {
    const template_id = await makeTemplate(target, { budget_base: PLAYERS * GIFT_BASE });
    await insertPlayers(owner, target, PLAYERS);
    await owner`vacuum analyze players, player_totals`;
    const players = await selectNewcomers(owner, target, PLAYERS);
    const headers = { authorization: `Bearer ${target.session_token}` };
    const url = `${target.base_url}/v1/bonus-grants`;
    const grant = (player_id: string) => {
      const body = { template_id, player_id, granted_by_kind: 'manual', granted_by_id: null };
      const call = { url, headers, body: JSON.stringify(body) };
      return postJson(agent, call, { status: 201, expected: '"status":"active"' });
    };
    await callAll(players.splice(0, POSTS / 5), CONNECTIONS, grant);
    const { per_second, waits_ms } = await callAll(players.splice(0, POSTS), CONNECTIONS, grant);
    const { active } = await countGrantsOf(owner, [template_id]);
    if (active !== PLAYERS - players.length) throw new Error(`${active} grants were credited`);
    const times = `p50 ${percentile(waits_ms, 0.5).toFixed(0)}, p99 ${percentile(waits_ms, 0.99).toFixed(0)} ms`;
    const note = `informative: ${POSTS} requests over ${CONNECTIONS} connections to a service with every role; ${times}`;
    return [result('POST /v1/bonus-grants, per second', [per_second], { at_least: 0 }, note)];
  } finally {
    agent.destroy();
    await owner.end({ timeout: 5 });
    await server.stop();
  }
}
