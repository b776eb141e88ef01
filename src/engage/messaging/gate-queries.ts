import type { PendingQuery, Row } from 'postgres';
import { textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import type { QuietHours } from './quiet-hours.ts';
import type { SkipCode } from './send-row.ts';
import type { HeldOutBy } from '../experiments/global.ts';
import { isSameAddressSql } from './suppression-queries.ts';
import {
  barsOfAddressSql,
  keyOfPlayer,
  PERSON_BARS,
  type Address,
  type PersonBar,
} from '../../protection/exclusions/address-queries.ts';
import type { MessageRules } from '../../tenants/licence/message-gate.ts';
import { AT_RISK, RISK_LEVELS, type RiskLevel } from '../../tenants/licence/rule.ts';

// The gate is an SQL expression that decides for many players at once. Counting, fan-out, sending and tests share it.

type Fragment = PendingQuery<Row[]>;

/** A tenant's quiet hours, and the zone of players without one of their own. */
export interface TenantQuietHours extends QuietHours {
  default_timezone: string;
}

/** The tenant's rules for messages of one channel (spec part 4). */
export interface GateRules {
  channel: Channel;
  /** The most messages in any 24 hours and in any 7 days; null: no cap. */
  per_day: number | null;
  per_week: number | null;
  /** Whether a player without a stored consent gets no messages. */
  consent_required: boolean;
  quiet_hours: TenantQuietHours | null;
  /** What the tenant's licence asks of messages on bonuses. */
  licence: MessageRules;
}

/** The rules at the moment `now`, with the time zones that have quiet hours then. */
export interface Gate extends GateRules {
  now: Date;
  quiet_zones: readonly string[];
  /** When the quiet hours of each of these zones end. */
  quiet_until: readonly Date[];
  /** The zones that were checked; whether it is quiet in others is not known. */
  known_zones: readonly string[];
}

/** Where a message goes: expressions of the address as it is written and as it is compared; null without one. */
export interface Recipient {
  address: Fragment;
  key: Fragment;
}

/** The address of the player `p` on the channel. */
export function recipientOf(tx: Tx, channel: Channel): Recipient {
  return { address: addressSql(tx, channel), key: keyOfPlayer(tx, channel) };
}

function addressSql(tx: Tx, channel: Channel): Fragment {
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

/** A rule of the gate: nothing goes out while the condition on the player `p` holds. */
interface Bar {
  code: SkipCode;
  when: Fragment;
}

/** Rules that are looked at one by one only where any of them holds, which is one look for most messages. */
interface Bars {
  any: Fragment;
  bars: Bar[];
}

/**
 * The code why a message to the player `p` at `recipient` must not go out; null: it may. `product` is that of the bonus
 * that the message is about; null: about none. The exclusions of the player, and of everybody else whose address it is,
 * are checked before the tenant's rules. The gate fails closed: without a player or a recipient nothing goes out.
 */
export function verdictSql(tx: Tx, gate: Gate, recipient: Recipient, product: Fragment): Fragment {
  return tx`case
    ${branchesSql(tx, barsOf(tx, gate, recipient, product))}
  end`;
}

/** All codes why nothing may go out, in the order of the gate, as an array; the first one is the verdict. */
export function codesSql(tx: Tx, gate: Gate, recipient: Recipient, product: Fragment): Fragment {
  const bars = barsOf(tx, gate, recipient, product).flatMap((one) => ('any' in one ? one.bars : [one]));
  const codes = bars.map(
    ({ code, when }, i) => tx`${i === 0 ? tx`` : tx`,`} case when ${when} then ${codeSql(tx, code)} end`,
  );
  return tx`array_remove(array[${codes}]::text[], null)`;
}

/** The rules of the gate in their order; the first that holds is the verdict. */
function barsOf(tx: Tx, gate: Gate, recipient: Recipient, product: Fragment): (Bar | Bars)[] {
  const to = { tenant_id: tx`p.tenant_id`, channel: gate.channel, key: recipient.key };
  const own = { ...ownBars(tx), cooldown: tx`p.cooldown_until > ${gate.now}` };
  return [
    isGone(tx),
    personBars(tx, to, gate.now, own),
    ...riskBars(tx, gate, product),
    { code: 'SKIPPED_NO_RECIPIENT', when: tx`${recipient.address} is null` },
    { code: 'SKIPPED_SUPPRESSED', when: isSuppressedSql(tx, gate, recipient) },
    { code: 'SKIPPED_NO_CONSENT', when: tx`not ${consentSql(tx, gate)}` },
    ...bonusConsentBars(tx, gate, product),
    ...capBars(tx, gate),
    // The last: counts of an audience decide it by themselves.
    ...quietBars(tx, gate),
  ];
}

function branchesSql(tx: Tx, bars: readonly (Bar | Bars)[]): Fragment {
  return bars.reduce(
    (sql, one) =>
      'any' in one
        ? tx`${sql} when ${one.any} then case ${branchesSql(tx, one.bars)} end`
        : tx`${sql} when ${one.when} then ${codeSql(tx, one.code)}`,
    tx``,
  );
}

/** The code as a literal: as a parameter it would be one more of each statement. */
function codeSql(tx: Tx, code: SkipCode): Fragment {
  return tx.unsafe(`'${code}'`);
}

/** The first branches of a `case`: the code why nothing at all may go out about the player `p`. */
export function barredSql(tx: Tx): Fragment {
  const { self_excluded, banned } = ownBars(tx);
  return branchesSql(tx, [
    isGone(tx),
    { code: PERSON_CODES.self_excluded, when: self_excluded },
    { code: PERSON_CODES.banned, when: banned },
  ]);
}

function isGone(tx: Tx): Bar {
  return { code: 'SKIPPED_NO_RECIPIENT', when: tx`p.player_id is null or p.deleted_at is not null` };
}

/** The code of each bar of a person. */
export const PERSON_CODES = {
  self_excluded: 'SKIPPED_SELF_EXCLUDED',
  banned: 'SKIPPED_BANNED',
  cooldown: 'SKIPPED_COOLDOWN',
} as const satisfies Record<PersonBar, SkipCode>;

/** What the row of the player `p` itself says, apart from breaks. */
function ownBars(tx: Tx): Record<Exclude<PersonBar, 'cooldown'>, Fragment> {
  return {
    self_excluded: tx`p.self_excluded or p.status = 'self_excluded'`,
    banned: tx`p.status = 'banned'`,
  };
}

/** For one address, the kinds of bars are read of at most so many barred persons. */
const MAX_KINDS = 100;

/** What bars everybody in the tenant whose address it is, and what bars the player whom the message is about: `own`. */
function personBars(tx: Tx, to: Address, now: Date, own?: Record<PersonBar, Fragment>): Bars {
  const theirs = barsOfAddressSql(tx, to, now);
  const or = (bar: PersonBar) => (own === undefined ? tx`` : tx`${own[bar]} or `);
  return {
    any: tx`${PERSON_BARS.map(or)} exists (${theirs})`,
    bars: PERSON_BARS.map((bar) => ({
      code: PERSON_CODES[bar],
      when: tx`${or(bar)} exists (
        select from (${theirs} limit ${MAX_KINDS}) h where h.bar = ${tx.unsafe(`'${bar}'`)})`,
    })),
  };
}

/** The code why nothing may go out to an address, whomever the message is about; null: it may. */
export function addressVerdictSql(tx: Tx, to: Address, now: Date): Fragment {
  const suppressed: Bar = { code: 'SKIPPED_SUPPRESSED', when: isSuppressedAtSql(tx, to) };
  return tx`case ${branchesSql(tx, [personBars(tx, to, now), suppressed])} end`;
}

/** Whether the tenant of the player `p` suppresses the address on the channel. */
export function isSuppressedSql(tx: Tx, { channel }: Pick<Gate, 'channel'>, { key }: Recipient): Fragment {
  return isSuppressedAtSql(tx, { tenant_id: tx`p.tenant_id`, channel, key });
}

function isSuppressedAtSql(tx: Tx, to: Address): Fragment {
  return tx`exists (select from suppressions x where ${isSameAddressSql(tx, to)})`;
}

/** The status of a row by the `verdict` of `j`; `may_go`: the status when the verdict is null. */
export function statusSql(tx: Tx, may_go: 'queued' | 'sending'): Fragment {
  return tx`case when j.verdict is null then ${may_go} when j.verdict = 'SKIPPED_FREQUENCY_CAP' then 'capped'
    else 'failed' end`;
}

/** The codes of players who passed the gate and were drawn into a holdout. */
export const HOLDOUT_CODES = [
  'SKIPPED_GLOBAL_HOLDOUT',
  'SKIPPED_HOLDOUT',
] as const satisfies readonly SkipCode[];
export type HoldoutCode = (typeof HOLDOUT_CODES)[number];

/** The code of who is held out. */
export const HOLDOUT_CODE = {
  project: 'SKIPPED_GLOBAL_HOLDOUT',
  experiment: 'SKIPPED_HOLDOUT',
} as const satisfies Record<HeldOutBy, HoldoutCode>;

/**
 * When the player of `j` passed the gate and was drawn; null: the gate let nothing pass, or it is a service message, from
 * which nobody is held out.
 */
export function assignedSql(tx: Tx, { now }: Pick<Gate, 'now'>): Fragment {
  return tx`case when not j.is_service and coalesce(j.verdict, ${codeSql(tx, HOLDOUT_CODES[0])}) in (${codeSql(tx, HOLDOUT_CODES[0])}, ${codeSql(tx, HOLDOUT_CODES[1])})
    then ${now}::timestamptz end`;
}

function consentSql(tx: Tx, gate: Gate): Fragment {
  return tx`coalesce(${consentSaidSql(tx, gate)}, ${!gate.consent_required})`;
}

/** What the player `p` has said about messages on the channel; null: nothing. */
export function consentSaidSql(tx: Tx, { channel }: Pick<Gate, 'channel'>): Fragment {
  return tx`consent_to(p.custom_attributes, ${channel})`;
}

/** Players at risk get no messages on bonuses, where the licence says so; where the rule is enforced, unknown is risk. */
function riskBars(tx: Tx, { licence }: Gate, product: Fragment): Bar[] {
  return licence.risks.map(({ levels, is_required }) => ({
    code: 'SKIPPED_AT_RISK',
    when: tx`${product} is not null and coalesce(${hasRiskSql(tx, levels)}, ${is_required})`,
  }));
}

/** Whether the risk of the player `p` is one of these levels; null: it is not known. */
function hasRiskSql(tx: Tx, levels: readonly RiskLevel[]): Fragment {
  return tx`case when p.custom_attributes ->> 'rg_risk' = ${anyOf(tx, RISK_LEVELS)}
          then p.custom_attributes ->> 'rg_risk' = ${anyOf(tx, levels)} end`;
}

/** Whether the player `p` is not deleted and known to be at risk, whatever the licence says: never null. */
export function isAtRiskSql(tx: Tx): Fragment {
  return tx`coalesce(p.deleted_at is null and ${hasRiskSql(tx, AT_RISK)}, false)`;
}

/** The consents to messages on bonuses that the licence asks for, besides that to the channel. */
function bonusConsentBars(tx: Tx, gate: Gate, product: Fragment): Bar[] {
  return gate.licence.consents.map(({ of, product: named, is_required }) => {
    const said =
      named === null
        ? consentSaidSql(tx, gate)
        : tx`consent_to_product(p.custom_attributes, ${gate.channel}, ${named})`;
    return {
      code: 'SKIPPED_NO_CONSENT',
      when: tx`${product} = ${anyOf(tx, of)} and not coalesce(${said}, ${!is_required})`,
    };
  });
}

/** Since when messages count towards the caps. */
function capWindows({ now }: Pick<Gate, 'now'>): { day: Date; week: Date } {
  return {
    day: new Date(now.getTime() - 86_400_000),
    week: new Date(now.getTime() - 604_800_000),
  };
}

/**
 * The messages of the player `p` that may have gone out since a moment. Filters by player and time only: with the tenant in
 * the filter, a planner without statistics considers the primary key, which begins with the tenant, as good as the index
 * by player.
 */
function recentSql(tx: Tx, since: Date): Fragment {
  return tx`select * from message_sends m where m.player_id = p.player_id and m.counted_at > ${since}`;
}

/** The messages since a moment that count towards the caps of the channel, as `s`. */
function countedSql(tx: Tx, { channel }: Pick<Gate, 'channel'>, since: Date): Fragment {
  return tx`(${recentSql(tx, since)} offset 0) s
      where s.tenant_id = p.tenant_id and s.project_id = p.project_id and s.channel = ${channel}`;
}

/** The frequency caps: they count messages that may have gone out in the last 24 hours and 7 days. */
function capBars(tx: Tx, gate: Gate): Bar[] {
  const { per_day, per_week } = gate;
  if (per_day === null && per_week === null) return [];
  const code = 'SKIPPED_FREQUENCY_CAP';
  const { day, week } = capWindows(gate);
  const since = per_week === null ? day : week;
  const fewest = Math.min(...[per_day, per_week].filter((cap) => cap !== null));
  if (fewest === 0) return [{ code, when: tx`true` }];
  // Most players have had fewer messages than the smallest cap; to check that costs half as much as counting.
  const when = tx`exists (${recentSql(tx, since)} offset ${fewest - 1}) and (
      select count(*) filter (where s.counted_at > ${day}) >= coalesce(${per_day}::bigint, ${NO_CAP})
        or count(*) >= coalesce(${per_week}::bigint, ${NO_CAP})
      from ${countedSql(tx, gate, since)}
    )`;
  return [{ code, when }];
}

/** How many messages count towards the caps of the channel: a row with `used_day` and `used_week`. */
export function capUseSql(tx: Tx, gate: Gate): Fragment {
  const { day, week } = capWindows(gate);
  return tx`select count(*) filter (where s.counted_at > ${day}) as used_day, count(*) as used_week
    from ${countedSql(tx, gate, week)}`;
}

/** More messages than any player has. */
const NO_CAP = 2n ** 62n;

/** Whether the gate has checked the zone of the player `p`; a player may have been added after the zones were read. */
export function isZoneKnownSql(tx: Tx, { quiet_hours, known_zones }: Gate): Fragment {
  if (quiet_hours === null) return tx`true`;
  return tx`coalesce(coalesce(p.timezone, ${quiet_hours.default_timezone}) = ${anyOf(tx, known_zones)}, true)`;
}

function quietBars(tx: Tx, { quiet_hours, quiet_zones }: Gate): Bar[] {
  if (quiet_hours === null || quiet_zones.length === 0) return [];
  const when = tx`coalesce(p.timezone, ${quiet_hours.default_timezone}) = ${anyOf(tx, quiet_zones)}`;
  return [{ code: 'SKIPPED_QUIET_HOURS', when }];
}

/** When the quiet hours of the player `p` end; null when there are none now. */
export function quietUntilSql(tx: Tx, { quiet_hours, quiet_zones, quiet_until }: Gate): Fragment {
  if (quiet_hours === null || quiet_zones.length === 0) return tx`null::timestamptz`;
  return tx`(select 'epoch'::timestamptz + q.until_ms * interval '1 millisecond'
    from ${rowsOf(tx, 'q', quiet_until, {
      zone: ['text', (_until, i) => quiet_zones[i] ?? null],
      until_ms: ['bigint', (until) => until.getTime()],
    })}
    where q.zone = coalesce(p.timezone, ${quiet_hours.default_timezone}))`;
}

/** `= any(…)` of a list; in a subquery Postgres parses the list once, not once per player. */
function anyOf(tx: Tx, texts: readonly string[]): Fragment {
  return tx`any((select ${textArray(texts)}::text::text[])::text[])`;
}
