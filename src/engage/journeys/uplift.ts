import type { Experiment } from '../experiments/experiment.ts';
import { populationOfJourney, TREATED } from '../experiments/uplift-queries.ts';
import type { Platform } from '../../platform/platform.ts';
import { Bindings } from '../../segments/sql/bindings.ts';
import { EventScan } from '../../segments/sql/event-scan.ts';
import type { JourneyRef } from './graph/queries.ts';
import { findJourney } from './graph/read.ts';
import { readJourney } from './graph/read-journey.ts';
import type { Settings } from './graph/shapes.ts';
import { selectVersion } from './graph/version-queries.ts';
import { selectSharePeriod } from './uplift-queries.ts';

/** How long money is measured where the journey has no goal. */
const WINDOW_DAYS = 28;

/**
 * A journey as an experiment: the players who entered it against those whom it holds out, since it holds out the share that
 * the live version has. The goal is that of the live version, or of the draft. Rejects with JOURNEY_NOT_FOUND.
 */
export async function experimentOfJourney(
  { postgres }: Pick<Platform, 'postgres'>,
  ref: JourneyRef,
): Promise<Experiment> {
  const { tenant_id, project_id, journey_id } = ref;
  const journey = await findJourney(postgres, ref);
  const { version } = journey;
  const [live] =
    version === null ? [] : await postgres.readAsTenant(tenant_id, (tx) => selectVersion(tx, ref, version));
  const settings = readJourney(live ?? journey)?.settings;
  const [period = null] = await postgres.readAsTenant(tenant_id, (tx) => selectSharePeriod(tx, ref));
  return {
    tenant_id,
    project_id,
    kind: 'journey',
    experiment_id: journey_id,
    population: populationOfJourney(journey_id, period),
    drawn_since: period?.since ?? null,
    looks: 'always',
    is_running: true,
    holdout_percent: settings?.holdout_percent ?? 0,
    arms: [{ arm: TREATED, name: TREATED, weight: 1 }],
    goal: goalOf(settings?.goal),
    window_days: settings?.goal?.window_days ?? WINDOW_DAYS,
  };
}

function goalOf(goal: Settings['goal'] | undefined): Experiment['goal'] {
  if (goal === undefined) return null;
  const bindings = new Bindings();
  const set = { event: goal.event, where: goal.where, window: { kind: 'always' } } as const;
  const where = new EventScan([set], bindings, { of_players: false, of_presence: false }).whereSql(set);
  return { event: goal.event, where: where || 'true', params: bindings.params };
}
