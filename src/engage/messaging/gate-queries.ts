import type { PendingQuery, Row } from 'postgres';
import { plainArray, textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import type { GateRules } from './gate.ts';
import { RISK_LEVELS } from '../../bonuses/licence/rule.ts';

// The gate is an SQL expression that decides for many players at once. Counting, fan-out, sending and tests share it.

type Fragment = PendingQuery<Row[]>;

/** The rules at the moment `now`, with the time zones that have quiet hours then. */
export interface Gate extends GateRules {
  now: Date;
  quiet_zones: readonly string[];
  /** When the quiet hours of each of these zones end. */
  quiet_until: readonly Date[];
  /** The zones that were checked; whether it is quiet in others is not known. */
  known_zones: readonly string[];
}

/** The address of the player `p` on the channel; null without one. */
export function recipientSql(tx: Tx, channel: Channel): Fragment {
  if (channel === 'email') return tx`nullif(p.email, '')`;
  if (channel === 'sms') return tx`nullif(p.phone, '')`;
  return tx`nullif(case when jsonb_typeof(p.custom_attributes -> 'push_token') = 'string'
    then p.custom_attributes ->> 'push_token' end, '')`;
}

/**
 * The product of the bonus that messages of the template `t` are about; null: they are about none. A template that reads
 * a bonus and names no product may show any.
 */
export function bonusProductSql(tx: Tx): Fragment {
  return tx`coalesce(t.bonus_product, case when t.reads_bonus then 'any' end)`;
}

/**
 * The code why a message to the player `p` at `recipient` must not go out; null: it may. `product` is that of the bonus
 * that the message is about; null: about none. The player's own exclusions are checked before the tenant's rules. The
 * gate fails closed: without a player or a recipient nothing goes out.
 */
export function verdictSql(tx: Tx, gate: Gate, recipient: Fragment, product: Fragment): Fragment {
  return tx`case
    ${barredSql(tx)}
    when p.cooldown_until > ${gate.now} then 'SKIPPED_COOLDOWN'
    ${riskSql(tx, gate, product)}
    when ${recipient} is null then 'SKIPPED_NO_RECIPIENT'
    when exists (
      select from suppressions x
      where x.tenant_id = p.tenant_id and x.channel = ${gate.channel} and x.address = lower(${recipient})
    ) then 'SKIPPED_SUPPRESSED'
    when not ${consentSql(tx, gate)} then 'SKIPPED_NO_CONSENT'
    ${bonusConsentSql(tx, gate, product)}
    ${capSql(tx, gate)}
    ${quietSql(tx, gate)}
  end`;
}

/** The first branches of a `case`: the code why nothing at all may go out about the player `p`. */
export function barredSql(tx: Tx): Fragment {
  return tx`when p.player_id is null or p.deleted_at is not null then 'SKIPPED_NO_RECIPIENT'
    when p.self_excluded or p.status = 'self_excluded' then 'SKIPPED_SELF_EXCLUDED'
    when p.status = 'banned' then 'SKIPPED_BANNED'`;
}

/** The status of a row by the `verdict` of `j`; `may_go`: the status when the verdict is null. */
export function statusSql(tx: Tx, may_go: 'queued' | 'sending'): Fragment {
  return tx`case when j.verdict is null then ${may_go} when j.verdict = 'SKIPPED_FREQUENCY_CAP' then 'capped'
    else 'failed' end`;
}

function consentSql(tx: Tx, { channel, consent_required }: Gate): Fragment {
  return tx`coalesce(consent_to(p.custom_attributes, ${channel}), ${!consent_required})`;
}

/** Players at risk get no messages on bonuses, where the licence says so; where the rule is enforced, unknown is risk. */
function riskSql(tx: Tx, { licence }: Gate, product: Fragment): Fragment {
  return licence.risks.reduce(
    (sql, { levels, is_required }) => tx`${sql}
      when ${product} is not null and coalesce(
        case when p.custom_attributes ->> 'rg_risk' = ${anyOf(tx, RISK_LEVELS)}
          then p.custom_attributes ->> 'rg_risk' = ${anyOf(tx, levels)} end, ${is_required}) then 'SKIPPED_AT_RISK'`,
    tx``,
  );
}

/** The consents to messages on bonuses that the licence asks for, besides that to the channel. */
function bonusConsentSql(tx: Tx, { channel, licence }: Gate, product: Fragment): Fragment {
  return licence.consents.reduce(
    (sql, { of, product: named, is_required }) => {
      const said =
        named === null
          ? tx`consent_to(p.custom_attributes, ${channel})`
          : tx`consent_to_product(p.custom_attributes, ${channel}, ${named})`;
      return tx`${sql}
      when ${product} = ${anyOf(tx, of)} and not coalesce(${said}, ${!is_required}) then 'SKIPPED_NO_CONSENT'`;
    },
    tx``,
  );
}

/** The frequency caps: they count messages that may have gone out in the last 24 hours and 7 days. */
function capSql(tx: Tx, { channel, now, per_day, per_week }: Gate): Fragment {
  if (per_day === null && per_week === null) return tx``;
  const { day, week } = {
    day: new Date(now.getTime() - 86_400_000),
    week: new Date(now.getTime() - 604_800_000),
  };
  // Filters by player and time only. With the tenant in the filter, a planner without statistics considers the primary
  // key, which begins with the tenant, as good as the index by player.
  const recent = tx`select * from message_sends m
    where m.player_id = p.player_id and m.counted_at > ${per_week === null ? day : week}`;
  const fewest = Math.min(...[per_day, per_week].filter((cap) => cap !== null));
  if (fewest === 0) return tx`when true then 'SKIPPED_FREQUENCY_CAP'`;
  // Most players have had fewer messages than the smallest cap; to check that costs half as much as counting.
  return tx`when exists (${recent} offset ${fewest - 1}) and (
      select count(*) filter (where s.counted_at > ${day}) >= coalesce(${per_day}::bigint, ${NO_CAP})
        or count(*) >= coalesce(${per_week}::bigint, ${NO_CAP})
      from (${recent} offset 0) s
      where s.tenant_id = p.tenant_id and s.project_id = p.project_id and s.channel = ${channel}
    ) then 'SKIPPED_FREQUENCY_CAP'`;
}

/** More messages than any player has. */
const NO_CAP = 2n ** 62n;

/** Whether the gate has checked the zone of the player `p`; a player may have been added after the zones were read. */
export function isZoneKnownSql(tx: Tx, { quiet_hours, known_zones }: Gate): Fragment {
  if (quiet_hours === null) return tx`true`;
  return tx`coalesce(coalesce(p.timezone, ${quiet_hours.default_timezone}) = ${anyOf(tx, known_zones)}, true)`;
}

function quietSql(tx: Tx, { quiet_hours, quiet_zones }: Gate): Fragment {
  if (quiet_hours === null || quiet_zones.length === 0) return tx``;
  return tx`when coalesce(p.timezone, ${quiet_hours.default_timezone}) = ${anyOf(tx, quiet_zones)}
    then 'SKIPPED_QUIET_HOURS'`;
}

/** When the quiet hours of the player `p` end; null when there are none now. */
export function quietUntilSql(tx: Tx, { quiet_hours, quiet_zones, quiet_until }: Gate): Fragment {
  if (quiet_hours === null || quiet_zones.length === 0) return tx`null::timestamptz`;
  return tx`(select 'epoch'::timestamptz + q.until_ms * interval '1 millisecond'
    from unnest(${textArray(quiet_zones)}::text::text[],
      ${plainArray(quiet_until.map((until) => until.getTime()))}::text::bigint[]) as q (zone, until_ms)
    where q.zone = coalesce(p.timezone, ${quiet_hours.default_timezone}))`;
}

/** `= any(…)` of a list; in a subquery Postgres parses the list once, not once per player. */
function anyOf(tx: Tx, texts: readonly string[]): Fragment {
  return tx`any((select ${textArray(texts)}::text::text[])::text[])`;
}
