import { setTimeout as sleep } from 'node:timers/promises';
import { NIL_ID } from '../../platform/ids.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { Platform } from '../../platform/platform.ts';
import type { BonusPlatform } from '../../adapters/platform.ts';
import type { Platforms } from '../../adapters/platforms.ts';
import { applyEvent } from '../grants/apply.ts';
import { updateCall, type GrantLane } from '../grants/call-queries.ts';
import { factsOf } from '../grants/grant-row.ts';
import { lockGrant } from '../grants/queries.ts';
import { isLive } from '../grants/transition.ts';
import { compareBudgets } from './compare-budgets.ts';
import { compareGrant, type ComparedGrant, type Finding } from './compare.ts';
import {
  savePosition,
  selectCutLanes,
  selectGrantsToCompare,
  selectLiveLanes,
  selectPosition,
} from './reconcile-queries.ts';

/** The parts of the platform that the reconciliation uses. */
export interface BonusReconcileDeps extends Pick<Platform, 'postgres' | 'clock' | 'logger'> {
  platforms: Platforms;
}

/** What a reconciliation did. */
export interface BonusReconcileSummary {
  /** Grants that were compared. */
  checked: number;
  /** Grants that were moved, because their platform or the clock has moved on. */
  applied: number;
  /** Grants and budgets whose figures differ. */
  mismatched: number;
  /** Active grants that their platform does not know; they are marked for review. */
  missing: number;
  /** Grants whose platform could not be asked, and budgets that could not be read; the next reconciliation tries again. */
  failed: number;
  /** Platforms of whose grants some were not compared: they do not answer, or the time was over. */
  incomplete: number;
}

/** How a reconciliation is run. */
export interface ReconcileOptions {
  /** Only this tenant; absent: every tenant. */
  tenant_id?: string | undefined;
  /**
   * `whole`: from the first grant of each platform to the last. `next`: all grants, too, beginning where the one before
   * ended. `rest`: what one before has left because its time was over.
   */
  scope?: 'whole' | 'next' | 'rest';
  /** After so long it is cut, and `rest` goes on; absent: it is not. */
  limit_ms?: number;
  stop?: AbortSignal | undefined;
}

/** A pending grant belongs to the sender for so long. */
const PENDING_MS = 15 * 60_000;
/** Platforms that are asked at the same time, and how long one is while others wait. */
const LANES = 32;
const LANE_MS = 60_000;
const LANE_PAGE = 1_000;
/** Grants that are read at once, and those of one platform that are asked about at once. */
const PAGE = 200;
const WIDTH = 8;
/** A platform that does not answer so many groups in a row is left until the next time. */
const MAX_SILENT = 3;

/** The comparison of a platform: from `began` to its last grant, then from the first one to `began`. */
interface LaneWork {
  lane: GrantLane;
  after: string;
  began: string;
}

/**
 * Compares live grants with their platforms, and budgets with grants. Platforms are asked at the same time, each at half
 * of its `max_rps`: the sender goes on meanwhile. How far each came is kept, so that what was cut goes on. Repeating it
 * has no further effect: what a platform says is applied as its webhooks are.
 */
export async function reconcileBonuses(
  deps: BonusReconcileDeps,
  { tenant_id, scope = 'next', limit_ms = Infinity, stop }: ReconcileOptions = {},
): Promise<BonusReconcileSummary> {
  const summary = { checked: 0, applied: 0, mismatched: 0, missing: 0, failed: 0, incomplete: 0 };
  const { logger } = deps;
  const until_ms = performance.now() + limit_ms;
  const queue = await lanesOf(deps, tenant_id, scope);
  const isCut = () => stop?.aborted === true || performance.now() > until_ms;
  const work = async () => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      const { lane } = one;
      const slice_until_ms = performance.now() + LANE_MS;
      const hasTurn = () => !isCut() && (queue.length === 0 || performance.now() < slice_until_ms);
      try {
        const end = await reconcileLane(deps, one, summary, { hasTurn, stop });
        if (end === 'through') continue;
        if (end === 'waits' && !isCut()) queue.push(one);
        else summary.incomplete += 1;
      } catch (error) {
        summary.failed += 1;
        summary.incomplete += 1;
        const { adapter_slug, project_id } = lane;
        logger.error(
          { err: error, adapter_slug, project_id },
          'bonuses could not be compared with their platform',
        );
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, work));
  if (scope !== 'rest') {
    const { mismatched, failed } = await compareBudgets(deps, tenant_id, stop);
    summary.mismatched += mismatched;
    summary.failed += failed;
  }
  logger.info({ event: 'bonus-reconcile-summary', ...summary }, 'compared bonuses with their platforms');
  return summary;
}

/** The platforms to compare with, each with where its comparison begins. */
async function lanesOf(
  { postgres: { service } }: BonusReconcileDeps,
  tenant_id: string | undefined,
  scope: 'whole' | 'next' | 'rest',
): Promise<LaneWork[]> {
  const lanes: LaneWork[] = [];
  let after: GrantLane | undefined;
  do {
    const page = await (scope === 'rest' ? selectCutLanes : selectLiveLanes)(service, after, LANE_PAGE);
    for (const lane of page) {
      if (tenant_id !== undefined && lane.tenant_id !== tenant_id) continue;
      const position = scope === 'whole' ? undefined : await selectPosition(service, lane);
      const from = position?.after_grant_id ?? NIL_ID;
      lanes.push({ lane, after: from, began: scope === 'rest' ? (position?.began_after ?? from) : from });
    }
    after = page.length === LANE_PAGE ? page.at(-1) : undefined;
  } while (after !== undefined);
  return lanes;
}

/**
 * Compares the grants of a platform for one turn. `waits`: the turn is over, and it goes on from what `work` says then.
 * `silent`: the platform does not answer. `through`: all were compared.
 */
async function reconcileLane(
  deps: BonusReconcileDeps,
  work: LaneWork,
  summary: BonusReconcileSummary,
  { hasTurn, stop }: { hasTurn: () => boolean; stop: AbortSignal | undefined },
): Promise<'through' | 'waits' | 'silent'> {
  const { postgres, clock, platforms } = deps;
  const { service } = postgres;
  const { lane } = work;
  const platform = await platforms.bySlug(lane, lane.adapter_slug);
  const width = Math.max(1, Math.min(WIDTH, platform?.max_in_flight ?? WIDTH));
  const save = () => savePosition(service, lane, { after_grant_id: work.after, began_after: work.began });
  for (let silent = 0; ;) {
    const is_second_half = work.after < work.began;
    const until = is_second_half ? work.began : undefined;
    const pending_before = new Date(clock.now_ms() - PENDING_MS);
    const page = await selectGrantsToCompare(
      service,
      lane,
      { after: work.after, until, pending_before },
      PAGE,
    );
    for (let i = 0; i < page.length; i += width) {
      if (!hasTurn()) {
        await save();
        return 'waits';
      }
      const group = page.slice(i, i + width);
      const begun_ms = performance.now();
      const findings = await Promise.all(group.map((grant) => reconcileGrant(deps, platform, grant)));
      for (const finding of findings) count(summary, finding);
      silent = findings.every((finding) => finding === 'failed') ? silent + 1 : 0;
      work.after = group.at(-1)?.grant_id ?? work.after;
      if (silent >= MAX_SILENT) {
        // The next one begins behind those that may never be answered, and comes to them at its end.
        await savePosition(service, lane, { after_grant_id: work.after, began_after: null });
        return 'silent';
      }
      const pace_ms = platform?.kind === 'http' ? (2_000 * group.length) / platform.max_rps : 0;
      await sleep(Math.max(0, begun_ms + pace_ms - performance.now()), undefined, { signal: stop }).catch(
        () => undefined,
      );
    }
    const is_half_over = page.length < PAGE || work.after === until;
    if (is_half_over && (is_second_half || work.began === NIL_ID)) {
      await savePosition(service, lane, undefined);
      return 'through';
    }
    if (is_half_over) work.after = NIL_ID;
    await save();
  }
}

type ReconcileOutcome = 'same' | 'applied' | 'mismatched' | 'missing' | 'failed';

function count(summary: BonusReconcileSummary, outcome: ReconcileOutcome): void {
  if (outcome === 'failed') {
    summary.failed += 1;
    return;
  }
  summary.checked += 1;
  if (outcome !== 'same') summary[outcome] += 1;
}

/** Never rejects. */
async function reconcileGrant(
  { postgres, clock, logger }: BonusReconcileDeps,
  platform: BonusPlatform | undefined,
  grant: ComparedGrant,
): Promise<ReconcileOutcome> {
  const { grant_id, tenant_id, project_id } = grant;
  const ids = { grant_id, tenant_id, project_id };
  try {
    // An adapter that is gone cannot be asked.
    const answer =
      platform === undefined
        ? ({ kind: 'unsupported' } as const)
        : await platform.status({ grant_id, platform_bonus_id: factsOf(grant).platform_bonus_id });
    const finding = compareGrant(grant, answer, new Date(clock.now_ms()));
    if (finding.kind === 'mismatched') {
      logger.warn({ ...ids, fields: finding.fields }, 'a bonus differs from that of its platform');
    }
    if (finding.kind === 'failed') {
      logger.warn({ ...ids, reason: finding.message }, 'a bonus could not be compared with its platform');
    }
    if (finding.kind !== 'report' && finding.kind !== 'missing') return finding.kind;
    return await retryConflicts(() => postgres.service.begin((tx) => write(tx, grant, finding)));
  } catch (error) {
    logger.error({ ...ids, err: error }, 'a bonus could not be compared with its platform');
    return 'failed';
  }

  async function write(
    tx: Parameters<typeof lockGrant>[0],
    seen: ComparedGrant,
    finding: Extract<Finding, { kind: 'report' | 'missing' }>,
  ): Promise<ReconcileOutcome> {
    const locked = await lockGrant(tx, seen);
    // Somebody else has moved it since it was asked about.
    if (locked === undefined || !isLive(locked.status)) return 'same';
    if (finding.kind === 'report') {
      return (await applyEvent(tx, locked, finding.report)).applied ? 'applied' : 'same';
    }
    if (locked.status !== 'active') return 'same';
    if (!locked.needs_review) {
      await updateCall(tx, locked, { ...locked, needs_review: true }, new Date(clock.now_ms()));
    }
    return 'missing';
  }
}
