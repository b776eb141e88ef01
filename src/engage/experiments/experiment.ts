import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { ArmData, Looks } from './report.ts';
import type { ArmPlayers, Measures, Population, ValueCount } from './uplift-queries.ts';

/** How long before the draw players are looked at. */
export const BEFORE_DAYS = 28;
/** What is compared. */
export interface Experiment extends ProjectRef {
  kind: 'campaign' | 'journey' | 'bonus_campaign' | 'global';
  /** Of the campaign, journey or project. */
  experiment_id: string;
  population: Population;
  looks: Looks;
  /** Whether players may still be drawn. */
  is_running: boolean;
  holdout_percent: number;
  /** The share of players who should be held out, where it changed while players were drawn; absent: `holdout_percent`. */
  held_out_share?: number;
  /** The arms that get something; `weight`: null where it changed, so that their sizes are not compared. */
  arms: readonly { arm: string; name: string; weight: number | null }[];
  goal: Measures['goal'];
  window_days: number;
  /** Brings who was drawn into ClickHouse; absent: a mirror does. */
  prepare?: () => Promise<void>;
}

/** What was measured; `values` of few players only. */
export interface Measured {
  counted: readonly ArmPlayers[];
  held_out: ArmData;
  treated: readonly ArmData[];
  cap: string | null;
  values: readonly ValueCount[] | null;
  is_over: boolean;
  /** When the last window is over; null: not known yet. */
  closes_ms: number | null;
}
