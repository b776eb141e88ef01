import type { NetRevenueSql } from '../../ledger/money/ngr-sql.ts';
import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import { OWNER, SCOPE } from '../../segments/sql/owner-sql.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

const LIMITS = 'settings max_execution_time = 60, max_memory_usage = 4000000000';

/** The arm of players who are held out; the others have names of their own. */
export const HELD_OUT = 'held_out';
/** The only other arm of what has no variants. */
export const TREATED = 'treated';

/**
 * Who was drawn for an experiment, as rows with `owner`, `drawn_at` and `drawn_arm`. A player may have several rows: the
 * first one counts.
 */
export interface Population {
  sql: string;
  params: Readonly<Record<string, unknown>>;
}

/** The players of a campaign who passed its gate: by variant, and those it holds out. */
export function populationOfCampaign(campaign_id: string): Population {
  return {
    sql: `select assumeNotNull(assigned_at) as drawn_at,
        if(ifNull(error_code, '') = 'SKIPPED_HOLDOUT', '${HELD_OUT}', toString(assumeNotNull(variant_id))) as drawn_arm, ${OWNER}
      from campaign_sends final
      where ${SCOPE} and assumeNotNull(campaign_id) = {experiment_id:UUID} and assigned_at is not null
        and variant_id is not null and ifNull(error_code, '') <> 'SKIPPED_GLOBAL_HOLDOUT'`,
    params: { experiment_id: campaign_id },
  };
}

/** The arm of players who get a message at an hour of their own. */
export const OWN_HOUR = 'own_hour';

/** The players of a campaign whose message was sent at an hour of their own, and, as those held out, at once. */
export function populationOfSendTime(campaign_id: string): Population {
  return {
    sql: `select assumeNotNull(assigned_at) as drawn_at, if(is_own_hour = 1, '${OWN_HOUR}', '${HELD_OUT}') as drawn_arm, ${OWNER}
      from campaign_sends final
      where ${SCOPE} and assumeNotNull(campaign_id) = {experiment_id:UUID} and assigned_at is not null and is_own_hour is not null`,
    params: { experiment_id: campaign_id },
  };
}

/** Since when a journey holds out the share that it holds out now: versions before `first_version` held out another one. */
export interface SharePeriod {
  first_version: number;
  since: Date;
}

/** A run that begins while a version is published may still be of the version before. */
const PUBLISHING_MS = 60_000;

/**
 * The players who entered a journey, and those it holds out; with a `period` those who came into the journey in it first: of
 * players who came before, other shares are in each arm, and some of them have had what the others lack. A run's version
 * may have changed since, so it counts only just after the publication.
 */
export function populationOfJourney(journey_id: string, period: SharePeriod | null): Population {
  const runs = `from journey_runs final
    where ${SCOPE} and journey_id = {experiment_id:UUID} and is_held_out_globally <> 1`;
  const drawn = `select started_at as drawn_at, if(is_held_out = 1, '${HELD_OUT}', '${TREATED}') as drawn_arm, ${OWNER} ${runs}`;
  const params = { experiment_id: journey_id };
  if (period === null) return { sql: drawn, params };
  const since_ms = period.since.getTime();
  const isBefore = (name: string) => `started_at < fromUnixTimestamp64Milli({${name}:Int64}, 'UTC')`;
  return {
    sql: `select drawn_at, drawn_arm, owner from (${drawn})
      where owner not in (
        select owner from (
          select ${OWNER} ${runs}
            and (${isBefore('since_ms')} or version < {first_version:UInt32} and ${isBefore('published_ms')})))`,
    params: {
      ...params,
      since_ms,
      published_ms: since_ms + PUBLISHING_MS,
      first_version: period.first_version,
    },
  };
}

/** The members of a bonus campaign who passed its gate, and those it holds out. */
export function populationOfBonusCampaign(campaign_id: string): Population {
  return {
    sql: `select assigned_at as drawn_at, if(is_held_out = 1, '${HELD_OUT}', '${TREATED}') as drawn_arm, ${OWNER}
      from bonus_assignments final
      where ${SCOPE} and campaign_id = {experiment_id:UUID} and is_held_out < 2`,
    params: { experiment_id: campaign_id },
  };
}

/**
 * The players for whom a campaign or a journey had something in [begins_at, until): those whom the project holds out, and the others,
 * whatever a single campaign did with them. Service messages, and journeys that have one, are drawn by no project.
 * Players with a run from before the round that went on in it are in no arm: it gave them something in either one.
 */
export function populationOfRound(begins_at: Date, until: Date): Population {
  const isBefore = `started_at < fromUnixTimestamp64Milli({begins_ms:Int64}, 'UTC')`;
  const range = (at: string) =>
    `${at} >= fromUnixTimestamp64Milli({begins_ms:Int64}, 'UTC') and ${at} < fromUnixTimestamp64Milli({ends_ms:Int64}, 'UTC')`;
  return {
    sql: `select drawn_at, drawn_arm, owner from (
      select assumeNotNull(assigned_at) as drawn_at,
        if(ifNull(error_code, '') = 'SKIPPED_GLOBAL_HOLDOUT', '${HELD_OUT}', '${TREATED}') as drawn_arm, ${OWNER}
      from campaign_sends final where ${SCOPE} and ${range('assigned_at')}
      union all
      select started_at as drawn_at, if(is_held_out_globally = 1, '${HELD_OUT}', '${TREATED}') as drawn_arm, ${OWNER}
      from journey_runs final where ${SCOPE} and ${range('started_at')} and is_held_out_globally <> 2)
      where owner not in (
        select ${OWNER} from journey_runs final
        where ${SCOPE} and ${isBefore} and is_held_out = 0 and is_held_out_globally <> 2 and run_id in (
          select run_id from journey_steps
          where ${SCOPE} and completed_at >= fromUnixTimestamp64Milli({begins_ms:Int64}, 'UTC')))`,
    params: { begins_ms: begins_at.getTime(), ends_ms: until.getTime() },
  };
}

/** The players of an arm, as digits; times in milliseconds since the epoch. */
export interface ArmPlayers {
  arm: string;
  /** Their window is over, or all are counted. */
  players: string;
  /** Their window is not over yet. */
  waiting: string;
  /** Drawn into two arms, since they are two players who were merged: not counted anywhere else. */
  in_two_arms: string;
  first_ms: string;
  last_ms: string;
}

const assignedSql = ({ sql }: Population) => `
  select owner, min(drawn_at) as at, any(drawn_arm) as arm, uniqExact(drawn_arm) > 1 as is_mixed
  from (${sql}) group by owner`;

/** Counts who was drawn. Players who were drawn before `until_ms` are counted, the others wait. */
export async function countArms(
  clickhouse: ClickHouseQueries,
  { tenant_id, project_id }: ProjectRef,
  population: Population,
  until_ms: number,
): Promise<ArmPlayers[]> {
  return clickhouse.query<ArmPlayers>(
    `select arm, toString(countIf(not is_mixed and is_over)) as players,
      toString(countIf(not is_mixed and not is_over)) as waiting, toString(countIf(is_mixed)) as in_two_arms,
      toString(toUnixTimestamp64Milli(minIf(at, not is_mixed and is_over))) as first_ms,
      toString(toUnixTimestamp64Milli(maxIf(at, not is_mixed and is_over))) as last_ms
    from (
      select arm, is_mixed, at, at < fromUnixTimestamp64Milli({until_ms:Int64}, 'UTC') as is_over
      from (${assignedSql(population)}))
    group by arm order by arm ${LIMITS}`,
    { tenant_id, project_id, ...population.params, until_ms },
  );
}

/** Events of players that say that an offer did harm. */
export const HARM = {
  exclusions: ['self_exclusion_set'],
  limits_reached: ['deposit_limit_reached', 'loss_limit_reached', 'session_limit_exceeded'],
  cooldowns: ['cooldown_entered'],
} as const;
export type Harm = keyof typeof HARM;
export const HARMS = Object.keys(HARM) as readonly Harm[];

/** What is measured of the players of a population. Times in milliseconds. */
export interface Measures {
  population: Population;
  /** Players who were drawn before this are measured. */
  until_ms: number;
  /** Of the players: when the first and the last were drawn. */
  first_ms: number;
  last_ms: number;
  /** From the draw on. */
  window_ms: number;
  /** Before the draw. */
  before_ms: number;
  /** The event that counts as a conversion, and further conditions on it as SQL; null: none does. */
  goal: { event: string; where: string; params: Readonly<Record<string, unknown>> } | null;
  /** What net gaming revenue is in this project. */
  ngr: NetRevenueSql;
}

const inWindow = (event: string) => `toUInt8(event in (${event}) and occurred_at >= at)`;
const listed = (names: readonly string[]) => names.map((name) => `'${name}'`).join(', ');

const NO_PARTS = "cast([], 'Array(Int128)')";
const hasParts = ({ ngr }: Measures) => ngr.bases.length > 0;
/** A column of statements about a project with deductions; of others an empty text. */
const withParts = (measures: Measures, column: string) => (hasParts(measures) ? `, ${column}` : '');

/**
 * A row for each measured player: `arm`, net gaming revenue `y` in the window and `x` before it (both in parts of the smallest
 * unit), whether there was a conversion, and each kind of harm; with deductions also `parts`: what is gained in the window before
 * them, and what each of them is a share of. Only events of the time between are read.
 */
function perPlayerSql(measures: Measures): string {
  const { goal, ngr } = measures;
  const harms = HARMS.map((harm) => `${inWindow(listed(HARM[harm]))} as ${harm}`).join(', ');
  const events = [...ngr.events, ...HARMS.flatMap((harm) => HARM[harm])];
  const isGoal =
    goal === null ? 'toUInt8(0)' : `toUInt8(event = {goal:String} and (${goal.where}) and occurred_at >= at)`;
  const parts = `[${[ngr.before, ...ngr.bases].join(', ')}] as parts`;
  return `
    select owner, any(arm) as arm, sum(gained) as y, sum(gained_before) as x, max(is_goal) as converted,
      ${HARMS.map((harm) => `max(${harm}) as ${harm}`).join(', ')}${withParts(measures, 'sumForEach(parts_gained) as parts')}
    from (
      select owner, arm, toInt128(0) as gained, toInt128(0) as gained_before, toUInt8(0) as is_goal,
        ${HARMS.map((harm) => `toUInt8(0) as ${harm}`).join(', ')}${withParts(measures, `${NO_PARTS} as parts_gained`)}
      from measured
      union all
      select owner, arm, if(occurred_at >= at, ngr, toInt128(0)), if(occurred_at < at, ngr, toInt128(0)), is_goal,
        ${HARMS.join(', ')}${withParts(measures, `if(occurred_at >= at, parts, ${NO_PARTS})`)}
      from (
        select e.owner as owner, e.occurred_at as occurred_at, e.ngr as ngr, a.arm as arm, a.at as at,
          e.event as event, ${isGoal} as is_goal, ${harms}${withParts(measures, 'e.parts as parts')}
        from (
          select event, occurred_at, ${ngr.scaled} as ngr${withParts(measures, parts)}, ${goal === null ? '' : 'properties, base_amount, base_payout, base_bonus_stake, base_bonus_payout, '}${OWNER}
          from events final
          where ${SCOPE} and event in (${listed(events)}${goal === null ? '' : ', {goal:String}'})
            and occurred_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
            and occurred_at < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
        ) e
        inner join measured a on e.owner = a.owner
        where e.occurred_at >= a.at - toIntervalMillisecond({before_ms:Int64})
          and e.occurred_at < a.at + toIntervalMillisecond({window_ms:Int64})
      )
    )
    group by owner`;
}

function withPlayers(measures: Measures): string {
  return `with measured as (
      select owner, at, arm from (${assignedSql(measures.population)})
      where not is_mixed and at < fromUnixTimestamp64Milli({until_ms:Int64}, 'UTC')),
    per_player as (${perPlayerSql(measures)})`;
}

function paramsOf({ tenant_id, project_id }: ProjectRef, measures: Measures): Record<string, unknown> {
  const { population, until_ms, first_ms, last_ms, window_ms, before_ms, goal } = measures;
  const times = { until_ms, window_ms, before_ms, from_ms: first_ms - before_ms, to_ms: last_ms + window_ms };
  return {
    tenant_id,
    project_id,
    ...population.params,
    ...times,
    ...(goal && { ...goal.params, goal: goal.event }),
  };
}

/**
 * What values are cut to, to see whether a few players decide: the 99.5th percentile of what players brought before they were
 * drawn, of those who brought something. Digits, in parts of the smallest unit; null when nobody did.
 */
export async function selectCap(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  measures: Measures,
): Promise<string | null> {
  const [row] = await clickhouse.query<{ cap: string; players: string }>(
    `${withPlayers(measures)}
    select toString(quantileExactIf(0.995)(x, x > 0)) as cap, toString(countIf(x > 0)) as players
    from per_player ${LIMITS}`,
    paramsOf(project, measures),
  );
  return row === undefined || row.players === '0' ? null : row.cap;
}

const SUMS = ['y', 'y2', 'y3', 'x', 'x2', 'xy'] as const;

/** The exact sums of an arm in parts of the smallest unit, as digits; `cut_…`: of values cut to the cap. */
export interface ArmSums extends Record<
  (typeof SUMS)[number] | `cut_${(typeof SUMS)[number]}` | Harm,
  string
> {
  arm: string;
  players: string;
  converted: string;
  /** Players whose value is not 0. */
  with_value: string;
  /** Players whose value the cap cuts. */
  cut: string;
  /**
   * With deductions: what was gained before them, then what each of them is a share of, in the smallest unit of the base
   * currency. Empty: there was no event.
   */
  parts?: string[];
}

function sumsSql(y: string, x: string, prefix: string): string {
  const terms = [y, `${y} * ${y}`, `${y} * ${y} * ${y}`, x, `${x} * ${x}`, `${x} * ${y}`];
  return SUMS.map((name, i) => `toString(sum(${terms[i] ?? ''})) as ${prefix}${name}`).join(', ');
}

/** The exact sums of each arm that has players, in 256 bits. */
export async function sumArms(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  measures: Measures,
  cap: string | null,
): Promise<ArmSums[]> {
  // No value is larger: without a cap nothing is cut.
  const most = cap ?? String(2n ** 126n);
  return clickhouse.query<ArmSums>(
    `${withPlayers(measures)}
    select arm, toString(count()) as players, toString(sum(converted)) as converted,
      toString(countIf(has_value)) as with_value, toString(countIf(is_cut)) as cut,
      ${HARMS.map((harm) => `toString(sum(${harm})) as ${harm}`).join(', ')},
      ${sumsSql('wide_y', 'wide_x', '')}, ${sumsSql('cut_off_y', 'cut_off_x', 'cut_')}${withParts(measures, 'arrayMap(one -> toString(one), sumForEach(wide_parts)) as parts')}
    from (
      select arm, converted, ${HARMS.join(', ')}, toInt128({cap:String}) as most, y != 0 as has_value, y > most as is_cut,
        toInt256(y) as wide_y, toInt256(x) as wide_x, toInt256(least(y, most)) as cut_off_y,
        toInt256(least(x, most)) as cut_off_x${withParts(measures, 'arrayMap(one -> toInt256(one), parts) as wide_parts')}
      from per_player)
    group by arm order by arm ${LIMITS}`,
    { ...paramsOf(project, measures), cap: most },
  );
}

/** How many players of an arm have the same values; digits, in parts of the smallest unit. */
export interface ValueCount {
  arm: string;
  y: string;
  x: string;
  players: string;
}

/** The values of all measured players. */
export async function selectValues(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  measures: Measures,
): Promise<ValueCount[]> {
  return clickhouse.query<ValueCount>(
    `${withPlayers(measures)}
    select arm, toString(y) as y, toString(x) as x, toString(count()) as players
    from per_player group by arm, y, x order by arm, y, x ${LIMITS}`,
    paramsOf(project, measures),
  );
}
