import { ApiError } from '../../errors.ts';
import { EndpointBulkhead, SLOW_LIMITS } from '../../http/endpoint-bulkhead.ts';
import { BoundedCache } from '../../platform/bounded-cache.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { withinTime } from '../../platform/time-limit.ts';
import { TenantBulkhead } from '../../segments/tenant-bulkhead.ts';
import {
  addMissing,
  selectCounts,
  selectMissing,
  selectStagesByTime,
  type Counted,
  type StageCount,
} from './counts-queries.ts';
import { selectCampaign, type CampaignRef, type CampaignRow } from './queries.ts';

/** How many messages of a campaign are counted as what; what none is counted as may be absent. */
export type Counts = Partial<Record<Counted, number>>;

type Deps = Pick<Platform, 'postgres' | 'clock'> & { logger: Pick<Logger, 'warn'> };

/** Of the connections for counts one is left to others. */
const COUNTING = { ...SLOW_LIMITS, max_running: 2 };
/** How long a report waits for messages to be counted: it holds up other reports. */
const PATIENCE_MS = 3_000;
const RETRY_AFTER_S = 3;
/** After a failure nothing is counted for this many times as long as the attempt took. */
const REST = 5;
const MAX_RESTS = 10_000;

/**
 * The counts of campaigns, for all reports. Messages from before they were counted as they change are counted once by the first
 * report: reports of one campaign share that work, and it is done for one campaign of a tenant at a time. Reports are refused with
 * SERVICE_UNAVAILABLE when it takes longer than 3 s; it goes on meanwhile.
 */
export class CampaignCounts {
  readonly #deps: Deps;
  readonly #of_tenants = new TenantBulkhead('count messages of campaigns', 1);
  readonly #of_all = new EndpointBulkhead(COUNTING);
  /** The campaigns that are being counted. */
  readonly #counting = new Map<string, Promise<void>>();
  /** Until when campaigns are not counted because that failed. */
  readonly #rests_until_ms = new BoundedCache<string, number>({ max: MAX_RESTS });

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** The counts of the campaign's messages at this moment. */
  async of(ref: CampaignRef, campaign: CampaignRow): Promise<Counts> {
    await this.#complete(ref, campaign);
    const rows = await this.#deps.postgres.readAsTenant(ref.tenant_id, (tx) => selectCounts(tx, ref));
    return Object.fromEntries(rows.map(({ counted, messages }) => [counted, Number(messages)]));
  }

  /** How many of the campaign's messages reached each stage in which interval. */
  async byTime(ref: CampaignRef, campaign: CampaignRow, interval_s: number): Promise<StageCount[]> {
    await this.#complete(ref, campaign);
    return this.#deps.postgres.readAsTenant(ref.tenant_id, (tx) => selectStagesByTime(tx, ref, interval_s));
  }

  async #complete(ref: CampaignRef, { is_counted }: Pick<CampaignRow, 'is_counted'>): Promise<void> {
    if (is_counted) return;
    const key = `${ref.tenant_id} ${ref.project_id} ${ref.campaign_id}`;
    const counting = this.#counting.get(key) ?? this.#start(key, ref);
    await withinTime(PATIENCE_MS, counting, () => notCounted(RETRY_AFTER_S));
  }

  #start(key: string, ref: CampaignRef): Promise<void> {
    const rests_ms = (this.#rests_until_ms.get(key) ?? 0) - this.#deps.clock.now_ms();
    if (rests_ms > 0) throw notCounted(Math.ceil(rests_ms / 1_000));
    const { tenant_id } = ref;
    const counting = this.#of_tenants
      .run(tenant_id, async () => this.#of_all.run(tenant_id, () => this.#count(key, ref)))
      .finally(() => this.#counting.delete(key));
    this.#counting.set(key, counting);
    return counting;
  }

  async #count(key: string, ref: CampaignRef): Promise<void> {
    const { postgres, clock, logger } = this.#deps;
    const begun_ms = clock.now_ms();
    try {
      await ensureCounted(postgres, ref);
    } catch (err) {
      const now_ms = clock.now_ms();
      this.#rests_until_ms.set(key, now_ms + REST * (now_ms - begun_ms));
      logger.warn({ err, campaign_id: ref.campaign_id }, 'the messages of a campaign could not be counted');
      throw err;
    }
  }
}

function notCounted(retry_after_s: number): ApiError {
  const message = 'the messages of this campaign are not counted yet: try again later';
  return new ApiError('SERVICE_UNAVAILABLE', message, { retry_after_s });
}

/**
 * Counts the messages of a campaign from before they were counted as they change, unless that was done: seconds for a million. They
 * are counted in a read, so that nobody waits for it.
 */
export async function ensureCounted(postgres: Postgres, ref: CampaignRef): Promise<void> {
  const [campaign] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectCampaign(tx, ref));
  if (campaign?.is_counted !== false) return;
  const missing = await postgres.countAsTenant(ref.tenant_id, (tx) => selectMissing(tx, ref));
  await postgres.asTenant(ref.tenant_id, (tx) => addMissing(tx, ref, missing));
}
