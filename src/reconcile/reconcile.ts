import { setTimeout as sleep } from 'node:timers/promises';
import type { Platform } from '../platform/platform.ts';
import { NotCaughtUp, waitUntilCaughtUp, waitUntilCounted } from '../analytics/caught-up.ts';
import { ApiError } from '../errors.ts';
import type { Session } from '../platform/postgres/port.ts';
import { LockTaken, requireLocks, tryLock } from '../platform/postgres/session-locks.ts';
import { dropLeftovers } from './replacement-queries.ts';
import { compareCopies } from './compare-copies.ts';
import { compareSums, type SumsRead } from './compare-sums.ts';
import { Findings } from './findings.ts';
import { listProjects, storeReconciliations } from './queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { rebuild } from './rebuild.ts';
import type { ReconcileBody, ReconcileReport } from './schema.ts';

type Engines = Pick<Platform, 'eventLog' | 'postgres' | 'clickhouse' | 'clock' | 'logger' | 'jobs'>;

/** The name of the lock that a run holds: other tables with the prefix of a rebuild were left by a run that died. */
const RUN_LOCK = 'reconcile';
/** A difference is reported when this many comparisons in a row find it; the processors catch up in between. */
const MAX_COMPARISONS = 3;
const RETRY_AFTER_S = 5;
/** How often a run that waits looks whether the other one has ended. */
const LOCK_PAUSE_MS = 500;

/**
 * Compares the stores. With `repair` it then rebuilds the tables that differ in ClickHouse, for the projects that
 * differ, and compares again. Totals that differ from their ledger rows are reported and never changed: they are not a
 * copy, and the cause must be found. One run works at a time. Rejects with SERVICE_UNAVAILABLE when another run does
 * not end, or the processors do not catch up, within `wait_ms`.
 */
export async function reconcile(engines: Engines, options: ReconcileBody): Promise<ReconcileReport> {
  const started_ms = engines.clock.now_ms();
  const deadline_ms = performance.now() + options.wait_ms;
  for (;;) {
    const report = await engines.postgres.patientSession((session) =>
      reconcileAlone(engines, session, options, started_ms),
    );
    if (report !== undefined) return report;
    if (performance.now() >= deadline_ms) break;
    // Jobs have few sessions: none is kept while another run works.
    await sleep(Math.min(LOCK_PAUSE_MS, options.wait_ms));
  }
  const message = `another reconcile did not end within ${options.wait_ms} ms: wait for it, or call with a longer wait_ms`;
  throw new ApiError('SERVICE_UNAVAILABLE', message, { retry_after_s: RETRY_AFTER_S });
}

/** Undefined when another run works now. */
async function reconcileAlone(
  engines: Engines,
  session: Session,
  options: ReconcileBody,
  started_ms: number,
): Promise<ReconcileReport | undefined> {
  if (!(await tryLock(session, RUN_LOCK))) return undefined;
  try {
    await dropLeftovers(engines.clickhouse);
    return await compareAndRepair(engines, session, options, started_ms);
  } catch (cause) {
    if (!(cause instanceof LockTaken)) throw cause;
    throw new ApiError('SERVICE_UNAVAILABLE', cause.message, { retry_after_s: RETRY_AFTER_S, cause });
  } finally {
    await dropOwn(engines, session);
  }
}

async function compareAndRepair(
  engines: Engines,
  session: Session,
  options: ReconcileBody,
  started_ms: number,
): Promise<ReconcileReport> {
  const { report, findings } = await compareAll(engines, session, options, started_ms);
  if (!options.repair || findings.differing.size === 0) return report;
  const catchUp = () => waitForProcessors(engines, options.tenant_id, options.wait_ms);
  await rebuild({ engines, session, catchUp }, findings.differing);
  const after = await compareAll(engines, session, options, started_ms);
  const repaired = [...findings.differing.values()].flatMap((projects) => [...projects.keys()]);
  return { ...after.report, repaired_projects: new Set(repaired).size };
}

/** Without the lock the tables may be those of another run. */
async function dropOwn({ clickhouse, logger }: Engines, session: Session): Promise<void> {
  try {
    await requireLocks(session);
    await dropLeftovers(clickhouse);
  } catch (err) {
    logger.warn({ err }, 'what reconcile made in ClickHouse is left for the next run to drop');
  }
}

interface Comparison {
  report: ReconcileReport;
  findings: Findings;
}

/**
 * Compares the data of every player: the totals with the ledger, the events in ClickHouse with the ledger, and every
 * copy in ClickHouse with its rows in Postgres. ClickHouse lags behind, so only a difference that each of some
 * comparisons finds is reported.
 */
async function compareAll(
  engines: Engines,
  session: Session,
  options: ReconcileBody,
  started_ms: number,
): Promise<Comparison> {
  const before_ms = engines.clock.now_ms();
  await waitForProcessors(engines, options.tenant_id, options.wait_ms);
  const waited_ms = engines.clock.now_ms() - before_ms;
  const projects = await listProjects(engines.postgres.service, options.tenant_id);
  let { read, findings } = await compareOnce(engines, session, options, projects);
  for (let count = 1; count < MAX_COMPARISONS && findings.count > 0 && !findings.isFull; count++) {
    await waitForProcessors(engines, options.tenant_id, options.wait_ms);
    ({ read, findings } = await compareOnce(engines, session, options, projects, findings));
  }
  const tenants = [...new Set(projects.map(({ tenant_id }) => tenant_id))];
  const ended_ms = engines.clock.now_ms();
  await storeReconciliations(
    engines.postgres.service,
    tenants.map((tenant_id) => ({ tenant_id, differences: findings.by_tenant.get(tenant_id) ?? 0 })),
    new Date(ended_ms),
  );
  const report: ReconcileReport = {
    differences: findings.count,
    listed: findings.listed,
    tenants: tenants.length,
    projects: projects.length,
    ...read,
    waited_ms,
    repaired_projects: 0,
    duration_ms: ended_ms - started_ms,
  };
  return { report, findings };
}

async function compareOnce(
  engines: Engines,
  session: Session,
  { tenant_id, wait_ms }: ReconcileBody,
  projects: readonly ProjectRef[],
  before?: Findings,
): Promise<{ read: SumsRead; findings: Findings }> {
  const findings = new Findings(before);
  const catchUp = () => waitForProcessors(engines, tenant_id, wait_ms);
  const read = await compareSums(engines, tenant_id, projects, catchUp, findings);
  await compareCopies(
    engines,
    tenant_id,
    projects,
    { catchUp, check: () => requireLocks(session) },
    findings,
  );
  return { read, findings };
}

async function waitForProcessors(
  engines: Engines,
  tenant_id: string | undefined,
  wait_ms: number,
): Promise<void> {
  try {
    await waitUntilCounted(engines, tenant_id, wait_ms);
    await waitUntilCaughtUp(engines, wait_ms);
  } catch (cause) {
    if (!(cause instanceof NotCaughtUp)) throw cause;
    throw new ApiError('SERVICE_UNAVAILABLE', cause.message, { retry_after_s: RETRY_AFTER_S, cause });
  }
}
