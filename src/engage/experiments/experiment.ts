import type { NetRevenueSql } from '../../ledger/money/ngr-sql.ts';
import type { ReportingSettings } from '../../tenants/config/read.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Round } from './global.ts';
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
  /** Of a project's holdout: the round, which is said once when it has ended. */
  round?: Round;
  /** What else of a campaign is compared than its holdout: said apart from it. */
  compares?: 'send_time';
  holdout_percent: number;
  /** Players who were drawn before are not counted: others were held out then; absent, null: all are counted. */
  drawn_since?: Date | null;
  /** The arms that get something; `weight`: null where it changed, so that their sizes are not compared. */
  arms: readonly { arm: string; name: string; weight: number | null }[];
  goal: Measures['goal'];
  window_days: number;
  /** Brings who was drawn into ClickHouse, where that changed; absent: a mirror does. */
  prepare?: () => Promise<void>;
}

/** What was measured; `values` of few players only. */
export interface Measured {
  /** How NGR was defined. */
  reporting: ReportingSettings;
  /** So many parts of values, sums and cap are the smallest unit of the base currency. */
  scale: NetRevenueSql['scale'];
  counted: readonly ArmPlayers[];
  held_out: ArmData;
  treated: readonly ArmData[];
  /** In parts of the smallest unit, as digits; null: there is none. */
  cap: string | null;
  values: readonly ValueCount[] | null;
  is_over: boolean;
  /** When the last window is over; null: not known yet. */
  closes_ms: number | null;
}
