import { tenantGateAt } from '../messaging/gate-at.ts';
import { chooseVariant } from '../messaging/variant-choice.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { Platform } from '../wiring/platform.ts';
import {
  deleteBatches,
  insertRows,
  selectMemberIds,
  selectMemberZones,
  takeBatch,
  type FanOutBatch,
  type NewRows,
} from './fan-out-queries.ts';
import { selectLiveCampaign, selectLiveVariants, type CampaignRow } from './queries.ts';

type FanOutDeps = Pick<Platform, 'postgres' | 'clock'>;

/**
 * Turns one waiting range of members into rows (spec part 4); false when none waits. Range and rows change places in one
 * transaction: whoever dies within it leaves the range to the next. A cancelled campaign gets no further rows.
 */
export async function fanOutOnce({ postgres, clock }: FanOutDeps): Promise<boolean> {
  return postgres.service.begin(async (tx) => {
    const batch = await takeBatch(tx);
    if (batch === undefined) return false;
    const campaign = await selectLiveCampaign(tx, batch);
    if (campaign?.status === 'sending') await fanOutBatch(tx, campaign, batch, new Date(clock.now_ms()));
    else await deleteBatches(tx, batch);
    return true;
  });
}

/** Makes the rows of one range of members. */
export async function fanOutBatch(
  tx: Tx,
  campaign: CampaignRow,
  batch: FanOutBatch,
  now: Date,
): Promise<void> {
  const { tenant_id, project_id, campaign_id, ...range } = batch;
  const { segment_id, channel, provider_id } = campaign;
  const audience = { tenant_id, project_id, campaign_id, segment_id, channel };
  const gate = await tenantGateAt(tx, audience, now, () => selectMemberZones(tx, audience, range));
  const live = await selectLiveVariants(tx, audience);
  const [only, ...others] = live;
  if (only === undefined) throw new Error(`campaign ${campaign_id} has no variant`);
  let variants: NewRows['variants'] = { all: only };
  if (others.length > 0) {
    const player_ids = await selectMemberIds(tx, audience, range);
    variants = { each: new Map(player_ids.map((id) => [id, chooseVariant(campaign_id, id, live)])) };
  }
  await insertRows(tx, { audience, range, provider_id, variants }, gate);
}
