import { setImmediate as nextTurn } from 'node:timers/promises';
import { NotCaughtUp, waitUntilCaughtUp } from '../../analytics/caught-up.ts';
import type { EngineTurns } from '../../analytics/engine-turns.ts';
import { RecentAnswers } from '../../analytics/recent-answers.ts';
import { fnv1a } from '../../platform/bucket.ts';
import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import { exactJson } from '../../platform/exact-json.ts';
import type { Platform } from '../../platform/platform.ts';
import { lessDeductions } from '../../ledger/money/deductions.ts';
import { netRevenueSql } from '../../ledger/money/ngr-sql.ts';
import {
  readOwnConfig,
  reportingSettingsOf,
  type Deduction,
  type ReportingSettings,
} from '../../tenants/config/read.ts';
import { insertEffectReport, selectEffectReport } from './effect-report-queries.ts';
import { BEFORE_DAYS, type Experiment, type Measured } from './experiment.ts';
import { judge, MOST_PERMUTED, type ArmData } from './report.ts';
import { shownReport } from './report-json.ts';
import { PermutationTest } from './statistics/permutation.ts';
import { NO_SUMS, slopeOf } from './statistics/means.ts';
import {
  countArms,
  HARMS,
  HELD_OUT,
  selectCap,
  selectValues,
  sumArms,
  type ArmPlayers,
  type ArmSums,
  type Harm,
  type Measures,
  type ValueCount,
} from './uplift-queries.ts';

const DAY_MS = 86_400_000;
/** So long after the last window events still come in; then the verdict is made, once. */
const SETTLING_MS = 10 * 60_000;
/** So long copies are waited for before something is said for good; else it is said at a later look. */
const CATCH_UP_MS = 2_000;

type Deps = Pick<Platform, 'postgres' | 'clickhouse' | 'eventLog' | 'clock' | 'logger'> & {
  turns: EngineTurns;
};

/**
 * What experiments have brought. An effect is computed at most once in 10 s, in a turn of its project and within the
 * seconds of its tenant; what is said once is stored.
 */
export class Effects {
  readonly #deps: Deps;
  readonly #answers: RecentAnswers;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#answers = new RecentAnswers(deps);
  }

  /** What an experiment has brought, as JSON text. Rejects as {@link EngineTurns.run}. */
  async of(experiment: Experiment): Promise<string> {
    const { tenant_id, experiment_id, round, compares = '' } = experiment;
    const key = { experiment_id, round: round?.name ?? compares };
    const [stored] = await this.#deps.postgres.readAsTenant(tenant_id, (tx) =>
      selectEffectReport(tx, experiment, key),
    );
    if (stored !== undefined) return stored.report;
    const { kind, holdout_percent, window_days, goal, drawn_since, is_running } = experiment;
    const reporting = reportingSettingsOf(await readOwnConfig(this.#deps.postgres, tenant_id));
    const { bonus_cost, deductions } = reporting;
    const terms = [holdout_percent, window_days, goal, drawn_since, is_running, bonus_cost, deductions];
    const { text } = await this.#answers.of(experiment, ['uplift', kind, key, terms], (clickhouse) =>
      this.#compute(clickhouse, experiment, reporting, key),
    );
    return text;
  }

  async #compute(
    clickhouse: ClickHouseQueries,
    experiment: Experiment,
    reporting: ReportingSettings,
    key: { experiment_id: string; round: string },
  ): Promise<string> {
    const { postgres, clock, turns } = this.#deps;
    const now_ms = clock.now_ms();
    const measured = () =>
      turns.run(experiment, async () => {
        await experiment.prepare?.();
        return measure(clickhouse, experiment, reporting, now_ms);
      });
    const found = await measured();
    if (!found.is_over || !(await this.#isCaughtUp()))
      return reportOf(experiment, { ...found, is_over: false, values: null }, now_ms);
    // Once more: what is said for good is said of copies that are past the end.
    const report = await reportOf(experiment, await measured(), now_ms);
    const now = new Date(now_ms);
    await postgres.asTenant(experiment.tenant_id, (tx) =>
      insertEffectReport(tx, experiment, { ...key, report, now }),
    );
    return report;
  }

  /** Whether ClickHouse has everything that Postgres and the log had at the call. */
  async #isCaughtUp(): Promise<boolean> {
    try {
      await waitUntilCaughtUp(this.#deps, CATCH_UP_MS);
      return true;
    } catch (error) {
      if (!(error instanceof NotCaughtUp)) throw error;
      this.#deps.logger.info({ reason: error.message }, 'an effect is not said for good yet');
      return false;
    }
  }
}

/** The report as JSON text. What `is_over` is said for good. */
async function reportOf(experiment: Experiment, measured: Measured, now_ms: number): Promise<string> {
  const { held_out, treated, is_over, scale } = measured;
  const permuted = await permute(experiment, measured);
  const judged = judge({
    held_out,
    treated,
    looks: experiment.looks,
    is_over,
    scale,
    primary: experiment.goal === null ? 'money' : 'rate',
    shares: sharesOf(experiment, measured.counted),
    permutedP: (arm) => permuted.get(arm) ?? null,
  });
  return exactJson(shownReport(experiment, { ...measured, judged, is_final: is_over, now_ms }));
}

async function measure(
  clickhouse: ClickHouseQueries,
  experiment: Experiment,
  reporting: ReportingSettings,
  now_ms: number,
): Promise<Measured> {
  const { looks, is_running, population, goal, window_days, round } = experiment;
  const window_ms = window_days * DAY_MS;
  // Of a broadcast everybody counts, and nothing is said before the last window is over. Else whose window is over.
  const until_ms = looks === 'always' ? now_ms - window_ms : now_ms + DAY_MS;
  const counted = await countArms(clickhouse, experiment, population, until_ms);
  const some = counted.filter(({ players }) => players !== '0');
  const first_ms = Math.min(...some.map((arm) => Number(arm.first_ms)));
  const last_ms = Math.max(...some.map((arm) => Number(arm.last_ms)));
  const closes_ms =
    looks === 'always'
      ? (round?.ends_at.getTime() ?? null)
      : is_running || some.length === 0
        ? null
        : last_ms + window_ms;
  const is_over = closes_ms !== null && now_ms >= closes_ms + SETTLING_MS;
  const ngr = netRevenueSql(reporting);
  const { scale } = ngr;
  const dataOf = (arm: string, found: ArmSums | undefined, cap: string | null) =>
    armDataOf(arm, found, cap, reporting.deductions);
  const nothing = { counted, cap: null, values: null, is_over, closes_ms, reporting, scale };
  if (some.length === 0)
    return {
      ...nothing,
      held_out: dataOf(HELD_OUT, undefined, null),
      treated: armsOf(experiment, []).map((arm) => dataOf(arm, undefined, null)),
    };
  const before_ms = BEFORE_DAYS * DAY_MS;
  const measures: Measures = { population, until_ms, first_ms, last_ms, window_ms, before_ms, goal, ngr };
  const cap = await selectCap(clickhouse, experiment, measures);
  const sums = await sumArms(clickhouse, experiment, measures, cap);
  const players = sums.reduce((total, arm) => total + Number(arm.players), 0);
  const values =
    looks === 'once' && is_over && players <= MOST_PERMUTED
      ? await selectValues(clickhouse, experiment, measures)
      : null;
  const of = (arm: string) =>
    dataOf(
      arm,
      sums.find((one) => one.arm === arm),
      cap,
    );
  return {
    ...nothing,
    cap,
    values,
    held_out: of(HELD_OUT),
    treated: armsOf(experiment, sums).map(of),
  };
}

/** The arms that get something. */
function armsOf({ arms }: Experiment, sums: readonly ArmSums[]): string[] {
  const known = arms.map(({ arm }) => arm);
  // Variants that were deleted meanwhile have players, too.
  const others = sums.map(({ arm }) => arm).filter((arm) => arm !== HELD_OUT && !known.includes(arm));
  return [...known, ...others];
}

function armDataOf(
  arm: string,
  found: ArmSums | undefined,
  cap: string | null,
  deductions: readonly Deduction[],
): ArmData {
  const none = Object.fromEntries(HARMS.map((name) => [name, 0])) as Record<Harm, number>;
  if (found === undefined)
    return {
      arm,
      converted: 0,
      with_value: 0,
      ngr: 0n,
      sums: NO_SUMS,
      cut_sums: cap === null ? null : NO_SUMS,
      cut: 0,
      harm: none,
    };
  const n = BigInt(found.players);
  const of = (prefix: '' | 'cut_') => ({
    n,
    y: BigInt(found[`${prefix}y`]),
    y2: BigInt(found[`${prefix}y2`]),
    y3: BigInt(found[`${prefix}y3`]),
    x: BigInt(found[`${prefix}x`]),
    x2: BigInt(found[`${prefix}x2`]),
    xy: BigInt(found[`${prefix}xy`]),
  });
  return {
    arm,
    converted: Number(found.converted),
    with_value: Number(found.with_value),
    ngr: ngrOf(found, deductions),
    sums: of(''),
    cut_sums: cap === null ? null : of('cut_'),
    cut: Number(found.cut),
    harm: Object.fromEntries(HARMS.map((name) => [name, Number(found[name])])) as Record<Harm, number>,
  };
}

/** What the players of an arm have brought: a cell of insights, in which each deduction is rounded once. */
function ngrOf({ y, parts = [] }: ArmSums, deductions: readonly Deduction[]): bigint {
  if (deductions.length === 0) return BigInt(y);
  const [before = 0n, ...bases] = parts.map(BigInt);
  return lessDeductions(before, bases, deductions);
}

/** How many players were drawn into each arm, with those who are not measured yet, and how many should be. */
function sharesOf({ arms, holdout_percent }: Experiment, counted: readonly ArmPlayers[]) {
  const drawn = new Map(counted.map(({ arm, players, waiting }) => [arm, Number(players) + Number(waiting)]));
  const all = [...drawn.values()].reduce((sum, players) => sum + players, 0);
  const share = holdout_percent / 100;
  const held_out = drawn.get(HELD_OUT) ?? 0;
  const kept = { players: held_out, expected: all * share };
  const weights = arms.map(({ weight }) => weight);
  const total = weights.reduce<number>((sum, weight) => sum + (weight ?? 0), 0);
  const known = arms.reduce((sum, { arm }) => sum + (drawn.get(arm) ?? 0), 0);
  if (weights.includes(null) || total === 0 || known + held_out !== all)
    return [kept, { players: all - held_out, expected: all * (1 - share) }];
  return [
    kept,
    ...arms.map(({ arm, weight }) => ({
      players: drawn.get(arm) ?? 0,
      expected: (all * (1 - share) * (weight ?? 0)) / total,
    })),
  ];
}

/** The p-values of permutation tests by arm. The event loop goes on between slices of a test. */
async function permute(
  { experiment_id }: Experiment,
  { values, held_out, treated }: Measured,
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  if (values === null || held_out.sums.n < 2n) return found;
  for (const { arm, sums } of treated) {
    if (sums.n < 2n) continue;
    const slope = slopeOf(sums, held_out.sums);
    const test = new PermutationTest(
      adjusted(values, arm, slope),
      adjusted(values, HELD_OUT, slope),
      fnv1a(`${experiment_id}:${arm}`),
    );
    while (!test.slice()) await nextTurn();
    found.set(arm, test.p_value);
  }
  return found;
}

function adjusted(values: readonly ValueCount[], arm: string, slope: number): number[] {
  return values
    .filter((value) => value.arm === arm)
    .flatMap(({ y, x, players }) =>
      Array.from({ length: Number(players) }, () => Number(y) - slope * Number(x)),
    );
}
