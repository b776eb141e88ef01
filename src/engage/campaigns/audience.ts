import { isStatementTimeout } from '../../platform/postgres/retry.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { withinTime } from '../../platform/time-limit.ts';
import {
  selectCopiedSample,
  selectSample,
  selectSize,
  AS_SETS,
  countVerdicts,
  selectManyMembers,
  type Counting,
  type VerdictCount,
} from './audience-queries.ts';
import type { Audience } from './fan-out-queries.ts';
import { type CampaignRef, type CampaignRow, selectCampaign, selectLiveVariants } from './queries.ts';
import { gateAt, gateRulesOf } from '../messaging/gate.ts';
import type { RuleProduct } from '../../tenants/licence/rule.ts';
import { readOwnConfig } from '../../tenants/config/read.ts';
import type { Gate } from '../messaging/gate-queries.ts';
import type { SkipCode } from '../messaging/send-row.ts';
import { sendTimeRules } from './send-time-rules.ts';
import { PLAIN_PERCENT } from './send-time.ts';

/** Members that are counted when nobody asks for all of them: the gate needs 60 to 170 ms for them. */
const SAMPLE = 10_000;
/** A sample has about as many members as it should; never more than this. */
const MAX_SAMPLE = 2 * SAMPLE;
/** A sample of a copy with fewer members than this, or so many more than SAMPLE, is not one of the segment. */
const LEAST_SAMPLE = 0.8 * SAMPLE;
/** How long ClickHouse may take to draw a sample: Postgres needs no longer. */
const COPY_MS = 2_000;
/** The longest count of all members; the client of the console waits for 30 s. */
const EXACT_MS = 20_000;

type Engines = Pick<Platform, 'postgres' | 'clickhouse' | 'logger'>;

/** Whom a campaign would reach now; not `exact`: estimated from `counted` members. */
export interface AudienceAnswer extends Verdicts {
  exact: boolean;
  counted: number;
}

/**
 * Asks the gate whom the campaign would reach now. If a segment has more than 10,000 members, only so many are asked, unless
 * `exact` is wanted. When that takes longer than 20 s, the answer is the estimate. `leaves` is the client's going away.
 */
export async function audienceOf(
  engines: Engines,
  ref: CampaignRef,
  campaign: CampaignRow,
  { now, exact, leaves }: { now: Date; exact: boolean; leaves: AbortSignal },
): Promise<AudienceAnswer> {
  const { type, segment_id, channel } = campaign;
  // Events find the recipients of a triggered campaign later.
  if (type === 'triggered') return { ...NOBODY, exact: true, counted: 0 };
  const { postgres } = engines;
  const with_hours = await hasHours(postgres, { ...ref, channel }, campaign, now);
  const audience: TimedAudience = { ...ref, segment_id, channel, with_hours };
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectSize(tx, audience));
  const members = Number(row?.members ?? 0n);
  if (members <= SAMPLE) return allOf(await countByVerdict(postgres, audience, now, { signal: leaves }));
  if (exact) {
    const settings = { statement_timeout: String(EXACT_MS) };
    try {
      return allOf(await countByVerdict(postgres, audience, now, { settings, signal: leaves }));
    } catch (error) {
      if (leaves.aborted || !isStatementTimeout(error)) throw error;
    }
  }
  const sample =
    row?.is_copied === true ? await copiedSample(engines, audience, members, now, leaves) : undefined;
  return estimated(members, sample ?? (await ownSample(postgres, audience, members, now, leaves)));
}

/**
 * The verdicts of a sample that ClickHouse draws; undefined when it does not do so in time, or its members are not about as many
 * as those of the segment, which happens after a restore and while it is rebuilt.
 */
async function copiedSample(
  { postgres, clickhouse, logger }: Engines,
  audience: TimedAudience,
  members: number,
  now: Date,
  signal: AbortSignal,
): Promise<Verdicts | undefined> {
  const drawing = selectCopiedSample(clickhouse, audience, SAMPLE / members, MAX_SAMPLE);
  const player_ids = await withinTime(COPY_MS, drawing).catch((err: unknown) => {
    logger.warn({ err }, 'ClickHouse draws no sample of an audience: Postgres does');
    return [];
  });
  if (player_ids.length < LEAST_SAMPLE || player_ids.length >= MAX_SAMPLE) return undefined;
  // Those who are no members any more are left out here.
  const sample = await countByVerdict(postgres, audience, now, { player_ids, signal });
  return Math.abs(sample.members - SAMPLE) <= SAMPLE - LEAST_SAMPLE ? sample : undefined;
}

/** The verdicts of a sample of the memberships themselves. */
async function ownSample(
  postgres: Postgres,
  audience: TimedAudience,
  members: number,
  now: Date,
  signal: AbortSignal,
): Promise<Verdicts> {
  const rows = await postgres.countAsTenant(
    audience.tenant_id,
    (tx) => selectSample(tx, audience, SAMPLE / members, MAX_SAMPLE),
    undefined,
    signal,
  );
  return countByVerdict(postgres, audience, now, {
    player_ids: rows.map(({ player_id }) => player_id),
    signal,
  });
}

function allOf(verdicts: Verdicts): AudienceAnswer {
  return { ...verdicts, exact: true, counted: verdicts.members };
}

/** The verdicts of a sample, scaled to all members. */
function estimated(members: number, sample: Verdicts): AudienceAnswer {
  const scaled = (count: number) =>
    sample.members === 0 ? 0 : Math.round((count / sample.members) * members);
  const by_code = Object.fromEntries(
    Object.entries(sample.by_code).map(([code, count]) => [code, scaled(count)]),
  );
  const sendable = scaled(sample.sendable);
  const own_hour = sample.send_time && scaled(sample.send_time.own_hour);
  const send_time = own_hour === null ? null : { own_hour, plain: sendable - own_hour };
  return { members, sendable, by_code, send_time, exact: false, counted: sample.members };
}

/** The members of a campaign's segment, those that pass the gate, and those without an address on the channel. */
export interface AudienceCounts {
  recipients_total: number;
  enqueued: number;
  no_recipient: number;
}

/** Counts, and the fields of the campaign that they were made for. */
export interface CountedAudience extends Pick<CampaignRow, 'type' | 'segment_id' | 'channel' | 'send_time'> {
  counts: AudienceCounts;
}

/** The counts of a triggered campaign: events find its recipients later. */
const NOBODY_YET: AudienceCounts = { recipients_total: 0, enqueued: 0, no_recipient: 0 };

/**
 * Counts whom a campaign would reach now; undefined when it cannot be sent (the transaction that sends it says why).
 * Counting a million members takes seconds, so it happens before that transaction, in reads of their own.
 */
export async function countCampaign(
  postgres: Postgres,
  ref: CampaignRef,
  now: Date,
): Promise<CountedAudience | undefined> {
  const [campaign] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectCampaign(tx, ref));
  if (campaign === undefined || campaign.deleted_at !== null) return undefined;
  if (campaign.status !== 'draft' && campaign.status !== 'scheduled') return undefined;
  const { type, segment_id, channel, send_time } = campaign;
  const with_hours = await hasHours(postgres, { ...ref, channel }, campaign, now);
  const counts =
    type === 'triggered'
      ? NOBODY_YET
      : await count(postgres, { ...ref, segment_id, channel, with_hours }, now);
  return { type, segment_id, channel, send_time, counts };
}

/**
 * The product that asks the most consents of those of a campaign's variants: nobody is counted whom a variant does not
 * reach. `any` asks for those of all products.
 */
function strictest(products: readonly (RuleProduct | null)[]): RuleProduct | null {
  const named = [...new Set(products.filter((product) => product !== null))];
  return named.length > 1 ? 'any' : (named[0] ?? null);
}

/** Whom a campaign would reach, by the verdicts of the gate. */
export interface Verdicts {
  members: number;
  sendable: number;
  /** Those who cannot be reached, by the first reason that the gate finds. */
  by_code: Partial<Record<SkipCode, number>>;
  /** How many of the sendable get it at an hour of their own, and how many at once; null: all at once. */
  send_time: { own_hour: number; plain: number } | null;
}

const NOBODY: Verdicts = { members: 0, sendable: 0, by_code: {}, send_time: null };

/** Members; `with_hours`: those who have an hour of their own get the message at it. */
interface TimedAudience extends Audience {
  with_hours: boolean;
}

/** Whether members of a campaign get their message at an hour of their own, if they have one. */
async function hasHours(
  postgres: Postgres,
  of: CampaignRef & Pick<CampaignRow, 'channel'>,
  campaign: CampaignRow,
  now: Date,
): Promise<boolean> {
  if (campaign.send_time === null) return false;
  return postgres.asTenant(
    of.tenant_id,
    async (tx) => (await sendTimeRules(tx, of, campaign, now)) !== undefined,
  );
}

interface CountOptions {
  /** These players, if they are members; absent: all members. */
  player_ids?: readonly string[];
  /** Settings of Postgres for the statements that count. */
  settings?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

/** Counts the members of the audience, or some of them, by the verdict that the gate would give now. */
export async function countByVerdict(
  postgres: Postgres,
  audience: TimedAudience,
  now: Date,
  { player_ids, settings: asked = {}, signal }: CountOptions = {},
): Promise<Verdicts> {
  const { tenant_id, channel, with_hours } = audience;
  const rules = gateRulesOf(await readOwnConfig(postgres, tenant_id), channel, now);
  const variants = await postgres.readAsTenant(tenant_id, (tx) => selectLiveVariants(tx, audience));
  const product = strictest(variants.map(({ bonus_product }) => bonus_product));
  const many = async () =>
    (await postgres.readAsTenant(tenant_id, (tx) => selectManyMembers(tx, audience))).length > 0;
  const counting: Counting =
    player_ids === undefined
      ? { as_sets: await many(), with_hours }
      : { as_sets: false, player_ids, with_hours };
  const settings = counting.as_sets ? { ...AS_SETS, ...asked } : asked;
  // Quiet hours are the last rule of the gate: one read of the members finds who passes the others, and their zones.
  const before_quiet = await gateAt({ ...rules, quiet_hours: null }, now, () => []);
  const rows = await postgres.countAsTenant(
    tenant_id,
    (tx) => countVerdicts(tx, audience, before_quiet, product, counting),
    settings,
    signal,
  );
  const gate = await gateAt(rules, now, () => rows.map(({ timezone }) => timezone));
  return verdictsOf(rows, gate, with_hours);
}

function verdictsOf(
  rows: readonly VerdictCount[],
  { quiet_hours, quiet_zones }: Gate,
  with_hours: boolean,
): Verdicts {
  const found: Verdicts = { ...NOBODY, by_code: {} };
  let own_hour = 0;
  for (const { verdict, timezone, has_hours, members } of rows) {
    const count = Number(members);
    const zone = timezone ?? quiet_hours?.default_timezone ?? '';
    const is_quiet = quiet_zones.includes(zone);
    // Who has an hour of their own gets it after the quiet hours.
    const code = verdict ?? (is_quiet && !has_hours ? 'SKIPPED_QUIET_HOURS' : null);
    found.members += count;
    if (code === null && has_hours) own_hour += is_quiet ? count : count * (1 - PLAIN_PERCENT / 100);
    if (code === null) found.sendable += count;
    else found.by_code[code] = (found.by_code[code] ?? 0) + count;
  }
  if (with_hours) {
    own_hour = Math.round(own_hour);
    found.send_time = { own_hour, plain: found.sendable - own_hour };
  }
  return found;
}

async function count(postgres: Postgres, audience: TimedAudience, now: Date): Promise<AudienceCounts> {
  const { members, sendable, by_code } = await countByVerdict(postgres, audience, now);
  return {
    recipients_total: members,
    enqueued: sendable,
    no_recipient: by_code.SKIPPED_NO_RECIPIENT ?? 0,
  };
}
