import type { Postgres } from '../../platform/postgres/port.ts';
import { addMissing, selectCounts, selectMissing, type Counted } from './counts-queries.ts';
import type { CampaignRef, CampaignRow } from './queries.ts';

/** How many messages of a campaign are counted as what; what none is counted as may be absent. */
export type Counts = Partial<Record<Counted, number>>;

/** The counts of the campaign's messages at this moment. */
export async function countsOf(postgres: Postgres, ref: CampaignRef, campaign: CampaignRow): Promise<Counts> {
  await ensureCounted(postgres, ref, campaign);
  const rows = await postgres.readAsTenant(ref.tenant_id, (tx) => selectCounts(tx, ref));
  return Object.fromEntries(rows.map(({ counted, messages }) => [counted, Number(messages)]));
}

/**
 * Counts the messages of a campaign from before they were counted as they change, once: seconds for a million. They are
 * counted in a read, so that nobody waits for it.
 */
export async function ensureCounted(
  postgres: Postgres,
  ref: CampaignRef,
  { is_counted }: Pick<CampaignRow, 'is_counted'>,
): Promise<void> {
  if (is_counted) return;
  const missing = await postgres.countAsTenant(ref.tenant_id, (tx) => selectMissing(tx, ref));
  await postgres.asTenant(ref.tenant_id, (tx) => addMissing(tx, ref, missing));
}
