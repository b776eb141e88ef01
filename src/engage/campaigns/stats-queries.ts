import type { PendingQuery } from 'postgres';
import { sendColumns } from '../messaging/queries.ts';
import type { SendStatus } from '../../analytics/message-status.ts';
import type { SendRow } from '../messaging/send-row.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { CampaignRef } from './queries.ts';
import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import { isMoneyProperty } from '../../segments/language/fields.ts';
import { Bindings } from '../../segments/sql/bindings.ts';
import { DECIMAL_SCALE } from '../../segments/sql/comparison-sql.ts';
import { jsonDecimal } from '../../segments/sql/json-sql.ts';
import { moneyOperand } from '../../segments/sql/money-sql.ts';
import { OWNER, SCOPE } from '../../segments/sql/owner-sql.ts';

/** Which recipients are listed: those of a status, those with an error code, or all that were skipped. */
export type RecipientFilter = { status: SendStatus } | { error_code: string } | 'skipped' | undefined;

/** Where a page of recipients ends. */
export type RecipientPosition = readonly [player_id: string, send_id: string];

/** A page of a campaign's rows by player and send. An index gives the order by player, so little is left to sort. */
export function listRecipients(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: CampaignRef,
  filter: RecipientFilter,
  after: RecipientPosition | undefined,
  limit: number,
): PendingQuery<SendRow[]> {
  const beyond =
    after === undefined ? tx`` : tx`and (player_id, send_id) > (${after[0]}::uuid, ${after[1]}::uuid)`;
  return tx<SendRow[]>`
    select ${sendColumns(tx)}
    from message_sends
    where tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id}
      ${beyond} ${filtered(tx, filter)}
    order by player_id, send_id
    limit ${limit}`;
}

function filtered(tx: Tx, filter: RecipientFilter) {
  if (filter === undefined) return tx``;
  if (filter === 'skipped') return tx`and starts_with(error_code, 'SKIPPED_')`;
  return 'status' in filter ? tx`and status = ${filter.status}` : tx`and error_code = ${filter.error_code}`;
}

const LIMITS = 'settings max_execution_time = 60, max_memory_usage = 4000000000';

/** The goal of a campaign: the event, how long after a message it counts, and the property that is summed. */
export interface Goal {
  event: string;
  window_ms: number;
  value_property: string | null;
}

/**
 * The conversions of one variant; counts as text. `value`: the sum of the goal's property over the conversions, a
 * number in plain digits; 0 without a property.
 */
export interface VariantConversions {
  variant_id: string;
  recipients: string;
  conversions: string;
  value: string;
}

/** The messages of the campaign that were sent; each player counts once, however many messages there were. */
const SENDS =
  `select assumeNotNull(variant_id) as variant, assumeNotNull(sent_at) as at, ${OWNER} from campaign_sends final ` +
  `where ${SCOPE} and assumeNotNull(campaign_id) = {campaign_id:UUID} and variant_id is not null and sent_at is not null`;

/** How many players got a message of each variant, for a campaign without a goal. */
export async function countRecipients(
  clickhouse: ClickHouseQueries,
  ref: CampaignRef,
): Promise<VariantConversions[]> {
  return clickhouse.query<VariantConversions>(
    `select variant as variant_id, toString(uniqExact(owner)) as recipients, '0' as conversions, '0' as value
    from (${SENDS}) group by variant ${LIMITS}`,
    { ...ref },
  );
}

const NO_ID = `toUUID('00000000-0000-0000-0000-000000000000')`;

/**
 * Counts conversions: a player who got a message of a variant converts when a goal event lies in the window that begins
 * with one of these messages. The earliest such event counts, once; of several at the same moment the first by id. The
 * query reads only events from the first message to the end of the last window. It sorts the messages and goal events
 * of a player together, latest first, and takes for each message the goal event before it in this order: the first one
 * at or after the message. The earliest of these that lie in their windows is the one that counts. So one player with
 * thousands of both costs no more than thousands of players.
 *
 * Nearly every player has one message, which needs no grouping by player: only the messages of the others are grouped so.
 *
 * Rejected: `asof join` over goals of distinct times, which took 2.5 times as long (200,000 messages, 800,000 goals); a
 * list of goals filtered for each message, which was as fast but is quadratic in the messages and goals of one player.
 */
export async function countConversions(
  clickhouse: ClickHouseQueries,
  ref: CampaignRef,
  { event, window_ms, value_property }: Goal,
): Promise<VariantConversions[]> {
  const bindings = new Bindings();
  const name = bindings.bind('String', event);
  const { worth, nothing } = worthOf(event, value_property, bindings);
  return clickhouse.query<VariantConversions>(
    `with sends as (${SENDS})
    select variant as variant_id, toString(sum(recipients)) as recipients, toString(sum(conversions)) as conversions,
      toString(sum(value)) as value
    from (
    select variant, has_one, if(has_one, count(), 1) as recipients,
      if(has_one, countIf(is_conversion), toUInt64(max(is_conversion))) as conversions,
      if(has_one, sumIf(goal_worth, is_conversion), argMinIf(goal_worth, goal_at, is_conversion)) as value
    from (${matchedSql(name, worth, nothing)})
    where is_send
    group by variant, has_one, if(has_one, ${NO_ID}, owner)
    )
    group by variant ${LIMITS}`,
    { ...bindings.params, ...ref, window_ms },
  );
}

/** How many players converted in an interval; `at` is its begin, in milliseconds since the epoch, as text. */
export interface ConversionBucket {
  at_ms: string;
  conversions: string;
}

/** Counts the conversions of {@link countConversions} by the time of the goal event, without intervals that have none. */
export async function countConversionsByTime(
  clickhouse: ClickHouseQueries,
  ref: CampaignRef,
  { event, window_ms }: Omit<Goal, 'value_property'>,
  interval_s: number,
): Promise<ConversionBucket[]> {
  const bindings = new Bindings();
  const name = bindings.bind('String', event);
  const { worth, nothing } = worthOf(event, null, bindings);
  return clickhouse.query<ConversionBucket>(
    `with sends as (${SENDS})
    select toString(intDiv(toUnixTimestamp(converted_at), {interval_s:UInt32}) * {interval_s:UInt32} * 1000) as at_ms,
      toString(count()) as conversions
    from (
      select min(goal_at) as converted_at from (${matchedSql(name, worth, nothing)})
      where is_send and is_conversion group by variant, owner
    )
    group by at_ms ${LIMITS}`,
    { ...bindings.params, ...ref, window_ms, interval_s },
  );
}

/** The messages and goal events of the campaign's players; of each message, which goal event follows it. */
function matchedSql(name: string, worth: string, nothing: string): string {
  return `
      select variant, owner, is_send, countIf(is_send) over everything = 1 as has_one,
        anyLastIf(worth, not is_send) over later as goal_worth, anyLastIf(at, not is_send) over later as goal_at,
        countIf(not is_send) over later > 0
          and anyLastIf(at, not is_send) over later < at + toIntervalMillisecond({window_ms:Int64}) as is_conversion
      from (
        select owner, at, toUInt8(1) as is_send, variant, ${NO_ID} as id, toUInt16(0) as event_index, ${nothing} as worth
        from sends
        union all
        select ${OWNER}, occurred_at, toUInt8(0), ${NO_ID}, ingestion_id, event_index, ${worth}
        from events final
        where ${SCOPE} and event = ${name} and occurred_at >= (select min(at) from sends)
          and occurred_at < (select max(at) from sends) + toIntervalMillisecond({window_ms:Int64})
      )
      window later as (partition by owner order by at desc, is_send, id desc, event_index desc
          rows between unbounded preceding and current row),
        everything as (partition by owner order by at desc, is_send, id desc, event_index desc
          rows between unbounded preceding and unbounded following)
    `;
}

/**
 * The value of a goal event: money in the smallest unit of the base currency at event time, other numbers as they were
 * sent; 0 where the property is missing or is not a number. `nothing`: 0 of the same type.
 */
function worthOf(
  event: string,
  property: string | null,
  bindings: Bindings,
): { worth: string; nothing: string } {
  const none = 'toInt128(0)';
  if (property === null) return { worth: none, nothing: none };
  const nothing = `toDecimal256(0, ${DECIMAL_SCALE})`;
  if (!isMoneyProperty(property, event)) {
    return { worth: jsonDecimal({ column: 'properties', key: property }, bindings), nothing };
  }
  const { sql, held_as } = moneyOperand(event, property, bindings);
  if (held_as === 'integer') return { worth: `toInt128(ifNull(${sql}, 0))`, nothing: none };
  return { worth: `ifNull(${sql}, ${nothing})`, nothing };
}
