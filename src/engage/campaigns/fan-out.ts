import { tenantGateAt } from '../messaging/gate.ts';
import { commitLater } from '../../platform/postgres/commits.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { Platform } from '../../platform/platform.ts';
import { MemberRanges } from '../member-ranges/member-ranges.ts';
import {
  cutRange,
  deleteRanges,
  EVERYBODY,
  type MemberRange,
  type RangeKind,
} from '../member-ranges/range-queries.ts';
import { campaignDraw } from '../experiments/global.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import { HOLDOUT_CODE } from '../messaging/gate-queries.ts';
import { countSkipped } from '../messaging/skipped.ts';
import { insertRows, selectMembers, type HoldoutOf, type MadeRows } from './fan-out-queries.ts';
import { notifyMessengers } from '../messaging/wake-queries.ts';
import { selectLiveCampaign, selectLiveVariants, type CampaignRef, type CampaignRow } from './queries.ts';
import { bucketOf } from '../../platform/bucket.ts';
import { sendTimeRules } from './send-time-rules.ts';
import { AT_ONCE, timings } from './send-time.ts';

/** Members who become send rows of a campaign. */
export const CAMPAIGN_RANGES: RangeKind = { work: 'campaign' };

/** Turns waiting ranges of members into send rows (spec part 4); campaigns take turns. */
export class FanOut {
  readonly #clock: Platform['clock'];
  readonly #metrics: RowMetrics;
  readonly #ranges: MemberRanges;

  constructor(platform: Pick<Platform, 'postgres' | 'clock' | 'logger'> & { metrics: RowMetrics }) {
    this.#clock = platform.clock;
    this.#metrics = platform.metrics;
    this.#ranges = new MemberRanges(platform, CAMPAIGN_RANGES);
  }

  /** Makes the rows of one range; returns false when no range waits. A cancelled campaign gets no further rows. */
  async turn(): Promise<boolean> {
    let made: MadeOfChannel | undefined;
    const outcome = await this.#ranges.turn(async () => async (tx, range) => {
      made = undefined;
      // Lost rows wait again as a range. Those that a messenger has claimed are not lost: its claim is flushed.
      commitLater(tx);
      const campaign = await selectLiveCampaign(tx, { ...range, campaign_id: range.owner_id });
      if (campaign?.status === 'sending')
        made = await fanOut(tx, campaign, range, new Date(this.#clock.now_ms()));
      else await deleteRanges(tx, range);
      return 'done';
    });
    if (outcome === 'worked' && made !== undefined) countRows(this.#metrics, made);
    return outcome !== 'none';
  }
}

type RowMetrics = Pick<Metrics, 'campaignRows' | 'messagesSkipped'>;

/** The rows of a campaign that one transaction has made. */
export interface MadeOfChannel {
  channel: Channel;
  made: readonly MadeRows[];
}

/** Counts rows, once their transaction is committed. */
export function countRows(metrics: RowMetrics, { channel, made }: MadeOfChannel): void {
  for (const { error_code, rows } of made) {
    metrics.campaignRows.inc(rows);
    countSkipped(metrics, channel, error_code, rows);
  }
}

/**
 * Begins the fan-out in the transaction that marks the campaign as `sending`: makes the rows of the first range, which
 * are all of a small campaign, and leaves the other ranges to the processor. It cuts a limited number of ranges, so its
 * time does not grow with the segment. Resolves with what {@link countRows} counts.
 */
export async function beginFanOut(
  tx: Tx,
  ref: CampaignRef,
  campaign: CampaignRow,
  now: Date,
): Promise<MadeOfChannel> {
  const { tenant_id, project_id, campaign_id: owner_id } = ref;
  const all = { tenant_id, project_id, owner_id, occasion: '', members_before: null, ...EVERYBODY };
  return fanOut(tx, campaign, all, now);
}

/** Makes the rows of one range of members; of a range without an end those of its first members, and cuts the rest. */
async function fanOut(tx: Tx, campaign: CampaignRow, taken: MemberRange, now: Date): Promise<MadeOfChannel> {
  const { tenant_id, project_id } = taken;
  const { campaign_id, segment_id, channel, provider_id, holdout_percent } = campaign;
  const audience = { tenant_id, project_id, campaign_id, segment_id, channel };
  const rules = await sendTimeRules(tx, audience, campaign, now);
  const range = await cutRange(tx, CAMPAIGN_RANGES, taken, segment_id);
  const members = await selectMembers(tx, audience, range, { with_hours: rules !== undefined });
  if (members.length === 0) return { channel, made: [] };
  const gate = await tenantGateAt(tx, audience, now, () => members.map(({ timezone }) => timezone));
  const variants = await selectLiveVariants(tx, audience);
  const variantOf = variantChooser(campaign_id, variants);
  const choices = new Map(members.map(({ player_id }) => [player_id, variantOf(player_id)]));
  const holdoutOf = await drawHoldout(tx, { ...audience, holdout_percent }, now);
  const timingOf = rules && timings(campaign_id, rules);
  const due =
    timingOf &&
    new Map(
      members.map((member) => {
        const variant = choices.get(member.player_id);
        return [member.player_id, variant === undefined ? AT_ONCE : timingOf(member, variant)];
      }),
    );
  const made = await insertRows(tx, { audience, provider_id, choices, holdoutOf, due }, gate);
  await notifyMessengers(tx, audience.campaign_id);
  return { channel, made };
}

/** Draws who is held out of the campaign, of those whom the gate lets pass at `now`. */
export async function drawHoldout(
  tx: Tx,
  campaign: CampaignRef & Pick<CampaignRow, 'holdout_percent'>,
  now: Date,
): Promise<HoldoutOf> {
  const { tenant_id, project_id, campaign_id, holdout_percent } = campaign;
  const draw = await campaignDraw(tx, { tenant_id, project_id, campaign_id, holdout_percent }, now);
  return (player_id, variant) => {
    const by = draw(player_id, variant);
    return by === null ? null : HOLDOUT_CODE[by];
  };
}

/** A variant with the fields that the choice needs. `weight` is a positive integer below 2^31. */
export interface WeightedVariant {
  variant_id: string;
  weight: number;
  sort_order: number;
}

/**
 * The variant that each player gets in a campaign: variants in order of `sort_order`, then id, share the buckets by
 * weight. The same player and variants give the same one. Throws a RangeError for no variants.
 */
export function variantChooser<T extends WeightedVariant>(
  campaign_id: string,
  variants: readonly T[],
): (player_id: string) => T {
  const inOrder = variants.toSorted(byOrder);
  const total = variants.reduce((sum, { weight }) => sum + weight, 0);
  return (player_id) => {
    const bucket = bucketOf(`${campaign_id}:${player_id}`.toLowerCase(), total);
    let below = 0;
    for (const variant of inOrder) {
      below += variant.weight;
      if (bucket < below) return variant;
    }
    throw new RangeError('a campaign without a variant of some weight');
  };
}

function byOrder(a: WeightedVariant, b: WeightedVariant): number {
  if (a.sort_order !== b.sort_order) return a.sort_order - b.sort_order;
  return a.variant_id < b.variant_id ? -1 : 1;
}
