import { LRUCache } from 'lru-cache';
import type { Experiment } from '../../engage/experiments/experiment.ts';
import { populationOfBonusCampaign, TREATED } from '../../engage/experiments/uplift-queries.ts';
import { exactJson } from '../../platform/exact-json.ts';
import { newId, NIL_ID } from '../../platform/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import type { BonusCampaignRow } from './queries.ts';
import { selectAssigned } from './uplift-queries.ts';

/** How long money is measured. */
const WINDOW_DAYS = 28;
/** Members that are copied at once. */
const PAGE = 20_000;
/** Finished campaigns that are remembered. */
const MAX_FINISHED = 10_000;

/** Brings members of bonus campaigns who were drawn into ClickHouse; of a campaign that is finished once for a process. */
export class AssignmentCopies {
  readonly #deps: Pick<Platform, 'postgres' | 'clickhouse' | 'clock'>;
  readonly #finished = new LRUCache<string, true>({ max: MAX_FINISHED });

  constructor(deps: Pick<Platform, 'postgres' | 'clickhouse' | 'clock'>) {
    this.#deps = deps;
  }

  /** Copies who was drawn so far. */
  async copy(campaign: BonusCampaignRow): Promise<void> {
    const { tenant_id, project_id, campaign_id, finished_at } = campaign;
    const { postgres, clickhouse, clock } = this.#deps;
    const key = `${tenant_id} ${project_id} ${campaign_id}`;
    // Afterwards nobody is drawn; a merge gives the events of both ids to one owner.
    if (this.#finished.has(key)) return;
    const revision = clock.now_ms();
    for (let after = NIL_ID; ;) {
      const rows = await postgres.readAsTenant(tenant_id, (tx) => selectAssigned(tx, campaign, after, PAGE));
      const last = rows.at(-1);
      if (last === undefined) break;
      after = last.player_id;
      const lines = rows.map((row) => exactJson({ ...row, tenant_id, project_id, campaign_id, revision }));
      await clickhouse.insertLines('bonus_assignments', lines, newId());
    }
    if (finished_at !== null) this.#finished.set(key, true);
  }
}

/** A bonus campaign as an experiment: the members who passed its gate against those whom it holds out. */
export function experimentOfBonusCampaign(copies: AssignmentCopies, campaign: BonusCampaignRow): Experiment {
  const { tenant_id, project_id, campaign_id, holdout_percent, finished_at } = campaign;
  return {
    tenant_id,
    project_id,
    kind: 'bonus_campaign',
    experiment_id: campaign_id,
    population: populationOfBonusCampaign(campaign_id),
    looks: 'once',
    is_running: finished_at === null,
    holdout_percent,
    arms: [{ arm: TREATED, name: TREATED, weight: 1 }],
    goal: null,
    window_days: WINDOW_DAYS,
    prepare: () => copies.copy(campaign),
  };
}
