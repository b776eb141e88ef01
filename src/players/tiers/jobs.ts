import { z } from 'zod';
import { THRESHOLDS_FOR_MS } from '../../ledger/tier-thresholds/threshold-cache.ts';
import type { Clock } from '../../platform/clock.ts';
import type { CronEntry, Jobs, NewJob } from '../../platform/jobs/port.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { decideResets, recomputePlayers, wouldChange, type TierOutcome, type TenantPlayer } from './apply.ts';
import {
  selectDueTiers,
  selectProjects,
  selectSeen,
  takeRequests,
  type DueTier,
  type SeenPosition,
} from './job-queries.ts';
import { selectFacts } from './player-tier-queries.ts';
import { readTierRules } from './tier-rules.ts';

/** Looks at all players of a tenant, after its tiers changed. */
export const RETIER_TASK = 'vip-retier';
/** Looks at the players whose deadline has come. */
export const SWEEP_TASK = 'vip-sweep';

const MAX_ATTEMPTS = 10;
/** Players that one statement reads. */
const PAGE = 1_000;
/** Players whose rows one transaction locks. */
const CHUNK = 100;
/** The second look begins when no process uses the old thresholds any more. */
const AGAIN_MS = 2 * THRESHOLDS_FOR_MS;

interface Deps {
  postgres: Postgres;
  clock: Clock;
  logger: Logger;
  jobs: Jobs;
}

const retierPayload = z.strictObject({
  tenant_id: z.uuid(),
  /** When the tiers were changed. */
  since: z.iso.datetime(),
  is_again: z.boolean(),
});

/** A job that looks at all players of the tenant, whose tiers were changed at `since`. */
export function retierJob(tenant_id: string, since: Date): NewJob {
  const payload = { tenant_id, since: since.toISOString(), is_again: false };
  return { task: RETIER_TASK, payload, max_attempts: MAX_ATTEMPTS, job_key: `${RETIER_TASK} ${tenant_id}` };
}

/** Every day at a time when few play. */
export const TIER_CRONTAB: readonly CronEntry[] = [
  {
    identifier: 'vip tiers due',
    match: '10 4 * * *',
    backfill_ms: 86_400_000,
    job: { task: SWEEP_TASK, payload: {}, max_attempts: MAX_ATTEMPTS, job_key: SWEEP_TASK },
  },
];

/**
 * The task `vip-retier`: 1,000 players a statement are compared with the rules as they are now, and only those whom they
 * change are locked and written. It takes players off tiers that are not active any more, and notes for the daily sweep
 * whom the rules move otherwise. A process may have used the old thresholds for a while after the change: a second job
 * does the same for the players whose totals changed since.
 */
export async function runRetierJob(deps: Deps, payload: unknown, stop: AbortSignal): Promise<void> {
  const { tenant_id, since, is_again } = retierPayload.parse(payload);
  const { service: sql } = deps.postgres;
  // The clock of another process may be behind.
  const since_ms = is_again ? Date.parse(since) - AGAIN_MS : -Infinity;
  for (const project_id of await selectProjects(sql, tenant_id)) {
    for (let after: SeenPosition | undefined; ;) {
      stop.throwIfAborted();
      const players = await selectSeen(sql, tenant_id, project_id, after, PAGE);
      await retier(
        deps,
        tenant_id,
        players.filter(({ updated_at }) => updated_at.getTime() >= since_ms),
      );
      after = players.at(-1);
      if (players.length < PAGE) break;
    }
  }
  if (is_again) return;
  await deps.jobs.add(sql, {
    ...retierJob(tenant_id, new Date(since)),
    payload: { tenant_id, since, is_again: true },
    job_key: `${RETIER_TASK} ${tenant_id} again`,
    run_at: new Date(deps.clock.now_ms() + AGAIN_MS),
  });
}

async function retier(deps: Deps, tenant_id: string, players: readonly TenantPlayer[]): Promise<void> {
  const { service: sql } = deps.postgres;
  if (players.length === 0) return;
  const now_ms = deps.clock.now_ms();
  const [facts, { tiers: rules }] = await Promise.all([
    selectFacts(sql, tenant_id, players),
    readTierRules(sql, tenant_id, new Date(now_ms)),
  ]);
  await recomputeInChunks(
    deps,
    tenant_id,
    facts.filter((one) => wouldChange(one, rules, now_ms, decideResets)),
    decideResets,
  );
}

async function recomputeInChunks(
  { postgres, clock }: Pick<Deps, 'postgres' | 'clock'>,
  tenant_id: string,
  players: readonly TenantPlayer[],
  decide?: typeof decideResets,
): Promise<TierOutcome[]> {
  const outcomes: TierOutcome[] = [];
  for (let i = 0; i < players.length; i += CHUNK) {
    const chunk = players.slice(i, i + CHUNK);
    outcomes.push(
      ...(await retryConflicts(() =>
        postgres.service.begin((tx) => recomputePlayers(tx, tenant_id, chunk, clock.now_ms(), decide)),
      )),
    );
  }
  return outcomes;
}

/** How many players a sweep looked at, and what became of them. */
export interface SweepSummary {
  event: 'tier-sweep-summary';
  checked: number;
  promoted: number;
  demoted: number;
  reset: number;
  failed: number;
}

/**
 * The task `vip-sweep`: computes the tier of each player whose deadline has come, and logs one line. Players who were
 * active since only get a new deadline. Where a tenant's players cannot be computed, the others' are; then it rejects.
 */
export async function runSweepJob(
  deps: Pick<Deps, 'postgres' | 'clock' | 'logger'>,
  stop: AbortSignal,
): Promise<SweepSummary> {
  const summary = { checked: 0, promoted: 0, demoted: 0, reset: 0, failed: 0 };
  const now = new Date(deps.clock.now_ms());
  let failure: unknown;
  for (let after: DueTier | undefined; ;) {
    stop.throwIfAborted();
    const due = await selectDueTiers(deps.postgres.service, now, after, PAGE);
    for (const [tenant_id, players] of byTenant(due)) {
      try {
        for (const outcome of await recomputeInChunks(deps, tenant_id, players)) count(summary, outcome);
      } catch (error) {
        failure ??= error;
        summary.failed += players.length;
        deps.logger.warn({ err: error, tenant_id }, 'the tiers of a tenant could not be computed');
      }
    }
    after = due.at(-1);
    if (due.length < PAGE) break;
  }
  const line: SweepSummary = { event: 'tier-sweep-summary', ...summary };
  deps.logger.info(line, 'computed the VIP tiers that were due');
  if (failure !== undefined) throw failure;
  return line;
}

function byTenant(due: readonly DueTier[]): Map<string, TenantPlayer[]> {
  const tenants = new Map<string, TenantPlayer[]>();
  for (const { tenant_id, ...player } of due) {
    const players = tenants.get(tenant_id);
    if (players === undefined) tenants.set(tenant_id, [player]);
    else players.push(player);
  }
  return tenants;
}

function count(summary: Omit<SweepSummary, 'event'>, outcome: TierOutcome): void {
  summary.checked++;
  const { change, demoted_ms } = outcome.decisions[0];
  if (change?.trigger === 'reset') summary.reset++;
  else if (change !== undefined && demoted_ms !== null) summary.demoted++;
  else if (change !== undefined) summary.promoted++;
}

/**
 * Computes the tiers of the next queued players of a tenant, in one transaction with taking them from the queue. True
 * when there may be more.
 */
export async function serveRequests(
  { postgres, clock }: Pick<Deps, 'postgres' | 'clock'>,
  tenant_id: string,
): Promise<boolean> {
  return retryConflicts(() =>
    postgres.service.begin(async (tx) => {
      const players = await takeRequests(tx, tenant_id, CHUNK);
      await recomputePlayers(tx, tenant_id, players, clock.now_ms());
      return players.length > 0;
    }),
  );
}
