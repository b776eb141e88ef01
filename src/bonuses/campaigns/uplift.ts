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

/** A bonus campaign as an experiment: the members who passed its gate against those whom it holds out. */
export function experimentOfBonusCampaign(
  { postgres, clickhouse, clock }: Pick<Platform, 'postgres' | 'clickhouse' | 'clock'>,
  campaign: BonusCampaignRow,
): Experiment {
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
    prepare: async () => {
      const revision = clock.now_ms();
      for (let after = NIL_ID; ;) {
        const rows = await postgres.readAsTenant(tenant_id, (tx) =>
          selectAssigned(tx, campaign, after, PAGE),
        );
        const last = rows.at(-1);
        if (last === undefined) return;
        after = last.player_id;
        const lines = rows.map((row) => exactJson({ ...row, tenant_id, project_id, campaign_id, revision }));
        await clickhouse.insertLines('bonus_assignments', lines, newId());
      }
    },
  };
}
