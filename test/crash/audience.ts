import { setTimeout as sleep } from 'node:timers/promises';
import { call, type InternalApi, type ProvisionedTenant } from '../../scripts/service-api.ts';
import type { Servers } from '../../src/config.ts';
import { connectClickHouse } from '../../src/platform/clickhouse/http.ts';
import { openKafkaLog } from '../../src/platform/event-log/kafka-log.ts';
import { TOPICS } from '../../src/platform/event-log/topics.ts';
import { createLogger } from '../../src/platform/logger.ts';
import type { SegmentChange } from '../../src/segments/publish-changes.ts';
import { kafkaLogOptions } from '../../src/app/wiring/kafka-options.ts';
import type { Model } from './model.ts';
import { readPlayers } from './verify.ts';

const POLL_MS = 250;
const BANDS = 10;
const DEPOSIT = 'deposit_confirmed';

/** What the model knows about a player that segments ask for. */
interface Facts {
  total_deposited: number;
  bet_count: number;
  ggr: number;
  /** Event name → how many; only of events that have an id. */
  counts: ReadonlyMap<string, number>;
}

/** A realtime segment, and who must be in it when all events are counted. */
export interface FollowedSegment {
  name: string;
  segment_id: string;
  holds(facts: Facts): boolean;
}

const group = (...conditions: object[]) => ({ operator: 'AND', conditions });
const trait = (field: string, op: string, value: unknown) => ({ type: 'trait', field, op, value });
const counted = (event: string, op: string, value: number) => {
  return { type: 'event', event, aggregate: 'count', op, value };
};
const segment = (op: 'in' | 'not_in', segment_id: string) => ({ type: 'segment', segment_id, op });

const countOf = ({ counts }: Facts, event: string) => counts.get(event) ?? 0;

/**
 * Creates the realtime segments whose members follow from the model alone. `events` is about the number of events that a
 * player will have; the limits lie within it, so that players enter, and leave some of the segments, during the run.
 */
export async function createSegments(
  api: InternalApi,
  { session_token }: ProvisionedTenant,
  events: number,
): Promise<FollowedSegment[]> {
  const made: FollowedSegment[] = [];
  const make = async (name: string, definition: object, holds: FollowedSegment['holds']) => {
    const { data } = await call<{ data: { id: string } }>(`${api.base_url}/v1/segments`, {
      method: 'POST',
      headers: { authorization: `Bearer ${session_token}` },
      body: { name, definition, refresh_strategy: 'realtime' },
    });
    made.push({ name, segment_id: data.id, holds });
    return data.id;
  };
  const deposits = Math.max(2, Math.round(events * 0.12));
  const total = deposits * 500_000;
  const isRich = (facts: Facts) => facts.total_deposited >= total;
  const isFrequent = (facts: Facts) => countOf(facts, DEPOSIT) >= deposits;
  const isLoser = ({ ggr }: Facts) => ggr > 0;
  const rich = await make('rich', group(trait('total_deposited', 'gte', total)), isRich);
  const frequent = await make('frequent', group(counted(DEPOSIT, 'gte', deposits)), isFrequent);
  // Each settled bet may turn the sign, so players enter and leave.
  const losing = await make('losing', group(trait('ggr', 'gt', 0)), isLoser);
  const bets = Math.max(2, Math.round(events * 0.15));
  await make('betting', group(trait('bet_count', 'gte', bets)), ({ bet_count }) => bet_count >= bets);
  await make('not rich', group(segment('not_in', rich)), (facts) => !isRich(facts));
  await make(
    'frequent, losing, not rich',
    group(segment('in', frequent), segment('in', losing), segment('not_in', rich)),
    (facts) => isFrequent(facts) && isLoser(facts) && !isRich(facts),
  );
  const few = Math.max(1, Math.round(events * 0.05));
  await make(
    'has deposited, few withdrawals',
    group(counted(DEPOSIT, 'gte', 1), counted('withdrawal_confirmed', 'lt', few)),
    (facts) => countOf(facts, DEPOSIT) >= 1 && countOf(facts, 'withdrawal_confirmed') < few,
  );
  await makeBands(make, events);
  return made;
}

/** Players go from one band of deposits to the next during the whole run: they enter and leave. */
async function makeBands(
  make: (name: string, definition: object, holds: FollowedSegment['holds']) => Promise<string>,
  events: number,
): Promise<void> {
  const width = Math.max(1, Math.round((events * 0.25) / BANDS));
  for (let from = 1; from <= BANDS * width; from += width) {
    const to = from + width;
    const between = [counted(DEPOSIT, 'gte', from), counted(DEPOSIT, 'lt', to)];
    await make(`${from} to ${to - 1} deposits`, group(...between), (facts) => {
      const count = countOf(facts, DEPOSIT);
      return count >= from && count < to;
    });
  }
}

/** The players that must be in each segment, by name: `<segment>: <player>`. */
function expectedMembers(segments: readonly FollowedSegment[], model: Model, names: Iterable<string>) {
  const counts = new Map<string, Map<string, number>>();
  for (const { player, has_id, body } of model.events) {
    if (!has_id) continue;
    const own = counts.get(player) ?? new Map<string, number>();
    counts.set(player, own.set(body.event, (own.get(body.event) ?? 0) + 1));
  }
  const totals = model.expected();
  const members = new Set<string>();
  for (const name of names) {
    const own = totals.get(name);
    const facts: Facts = {
      total_deposited: own?.total_deposited ?? 0,
      bet_count: own?.bet_count ?? 0,
      ggr: (own?.total_wagered ?? 0) - (own?.total_won ?? 0),
      counts: counts.get(name) ?? new Map<string, number>(),
    };
    for (const one of segments) if (one.holds(facts)) members.add(`${one.name}: ${name}`);
  }
  return members;
}

/** Where the members are compared: the service's API, its ClickHouse, and its topic of changes. */
export interface AudienceSources {
  api: InternalApi;
  servers: Servers;
  tenant: ProvisionedTenant;
}

/** Returns every difference that is still there after `wait_ms`, and the number of changes on the log. */
export async function verifyMembers(
  sources: AudienceSources,
  segments: readonly FollowedSegment[],
  model: Model,
  wait_ms: number,
): Promise<{ differences: string[]; changes: number; repeated_changes: number }> {
  for (const deadline_ms = Date.now() + wait_ms; ; await sleep(POLL_MS)) {
    const found = await compareMembers(sources, segments, model);
    if (found.differences.length === 0 || Date.now() > deadline_ms) return found;
  }
}

async function compareMembers(
  { api, servers, tenant }: AudienceSources,
  segments: readonly FollowedSegment[],
  model: Model,
) {
  const players = await readPlayers(api, tenant);
  const nameOf = new Map(players.map(({ id, anonymous_ids }) => [id, anonymous_ids.join(',')]));
  const segmentNames = new Map(segments.map(({ segment_id, name }) => [segment_id, name]));
  const named = (segment_id: string, player_id: string) =>
    `${segmentNames.get(segment_id) ?? 'another'}: ${nameOf.get(player_id) ?? player_id}`;
  const expected = expectedMembers(segments, model, nameOf.values());
  const followed = (segment_id: string) => segmentNames.has(segment_id);

  const shown = players.flatMap(({ id, segment_ids }) =>
    segment_ids.filter(followed).map((segment_id) => named(segment_id, id)),
  );
  const copies = await readCopies(servers, tenant);
  const copied = copies
    .filter(({ segment_id }) => followed(segment_id))
    .map(({ segment_id, player_id }) => named(segment_id, player_id));
  const changes = await readChanges(servers);
  const log = replayChanges(
    changes.filter(({ segment_id }) => followed(segment_id)),
    ({ segment_id, player_id }) => named(segment_id, player_id),
  );
  const differences = [
    ...compareSets('members in the API', expected, shown),
    ...compareSets('members in ClickHouse', expected, copied),
    ...compareSets('members after the changes on the log', expected, log.members),
    ...log.differences,
  ];
  return { differences, changes: changes.length, repeated_changes: log.repeated };
}

/** The members that ClickHouse has. */
async function readCopies({ clickhouse_url }: Servers, { tenant_id }: ProvisionedTenant) {
  const clickhouse = connectClickHouse(clickhouse_url);
  try {
    return await clickhouse.query<{ segment_id: string; player_id: string }>(
      'select segment_id, player_id from segment_members final where tenant_id = {tenant_id:UUID}',
      { tenant_id },
    );
  } finally {
    await clickhouse.close();
  }
}

function compareSets(what: string, expected: ReadonlySet<string>, found: readonly string[]): string[] {
  const wrong: string[] = [];
  const left = new Set(expected);
  const seen = new Set<string>();
  for (const member of found) {
    if (seen.has(member)) wrong.push(`${what}: twice ${member}`);
    else if (!left.delete(member)) wrong.push(`${what}: not expected ${member}`);
    seen.add(member);
  }
  for (const member of left) wrong.push(`${what}: missing ${member}`);
  return wrong;
}

/** The records of the topic `segment-changes`, in the order of each partition. */
async function readChanges(servers: Servers): Promise<SegmentChange[]> {
  const log = openKafkaLog(await kafkaLogOptions(servers, createLogger('silent')));
  const found: SegmentChange[] = [];
  try {
    await log.ensureTopics([TOPICS.segmentChanges]);
    const { partitions } = await log.describe(TOPICS.segmentChanges);
    for (const [partition, { first, end }] of partitions) {
      for await (const { records } of log.read(TOPICS.segmentChanges, partition, first, end)) {
        found.push(...records.map(({ value }) => JSON.parse(value) as SegmentChange));
      }
    }
  } finally {
    await log.close();
  }
  return found;
}

/** Applies changes in their order. A change may be there twice; otherwise a player enters and leaves in turns. */
function replayChanges(changes: readonly SegmentChange[], nameOf: (change: SegmentChange) => string) {
  const differences: string[] = [];
  const inside = new Set<string>();
  const seen = new Set<string>();
  let repeated = 0;
  for (const change of changes) {
    const name = nameOf(change);
    const key = `${change.change_id} ${name}`;
    if (seen.has(key)) {
      repeated++;
      continue;
    }
    seen.add(key);
    const has_entered = change.change === 'entered';
    if (has_entered === inside.has(name)) differences.push(`the log: ${name} has ${change.change} twice`);
    if (has_entered) inside.add(name);
    else inside.delete(name);
  }
  return { differences, members: [...inside], repeated };
}
