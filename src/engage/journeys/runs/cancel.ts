import { ApiError } from '../../../errors.ts';
import type { AuditChange } from '../../../http/audit.ts';
import { requireRow } from '../../../http/record.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Postgres, Tx } from '../../../platform/postgres/port.ts';
import { retryConflicts } from '../../../platform/postgres/retry.ts';
import { cancelJourneySends } from '../../messaging/journey-send-queries.ts';
import { cancelDeliveries } from '../../webhooks/delivery-queries.ts';
import { endRunning, type Ending, type EndScope } from './end-queries.ts';
import type { JourneyKey } from './journey-queries.ts';
import { selectRun } from './read-queries.ts';
import { RUN, type RunKey } from './read.ts';
import { auditedRunOf, runResourceOf, type RunResource } from './run-json.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
  audit: AuditChange;
}

/** Runs that one transaction ends. */
export const MAX_ENDED = 1_000;
/** Transactions of one cancellation: players may go on entering the journey as fast as their runs are cancelled. */
const MAX_PAGES = 10_000;

/** Ends running runs with what they have not done yet: queued messages and pending webhooks. Returns how many. */
export async function endRuns(tx: Tx, scope: EndScope, ending: Ending): Promise<number> {
  const runs = await endRunning(tx, scope, ending);
  await cancelJourneySends(tx, runs);
  await cancelDeliveries(tx, runs);
  return runs.length;
}

/**
 * Cancels one run. A cancelled run stays as it is. Rejects with JOURNEY_RUN_NOT_FOUND, or with
 * JOURNEY_RUN_INVALID_STATUS when the run has completed or failed.
 */
export async function cancelRun(
  { postgres, clock, audit }: Deps,
  ref: RunKey,
  user_id: string,
): Promise<RunResource> {
  const { tenant_id, project_id, run_id } = ref;
  return retryConflicts(() =>
    postgres.asTenant(tenant_id, async (tx) => {
      const read = async () => {
        const [row] = await selectRun(tx, ref);
        return runResourceOf(requireRow(RUN, ref, row));
      };
      const before = await read();
      const now = new Date(clock.now_ms());
      const terms = { cancelled_by: user_id, now, limit: 1 };
      const cancelled = await endRuns(tx, { tenant_id, project_id, run_id }, terms);
      const after = await read();
      if (cancelled === 0 && after.status !== 'cancelled') {
        const message = `the run is ${after.status}: only a running one can be cancelled`;
        throw new ApiError('JOURNEY_RUN_INVALID_STATUS', message);
      }
      if (cancelled > 0) {
        const [was, is] = [auditedRunOf(before), auditedRunOf(after)];
        await audit(tx, { tenant_id, project_id, resource_id: run_id, before: was, after: is });
      }
      return after;
    }),
  );
}

/**
 * Cancels the running runs of a journey, of one version or at one node, 1,000 at a time, ten million at most; returns
 * how many. It ends when none is running any more: a page is not full when some of its runs ended meanwhile.
 */
export async function cancelRunsOf(
  { postgres, clock, audit }: Deps,
  { tenant_id, project_id, journey_id }: JourneyKey,
  of: { version?: number | undefined; node_id?: string | undefined },
  user_id: string,
): Promise<number> {
  const scope = { tenant_id, project_id, journey_id, ...of };
  let cancelled = 0;
  for (let page = 0; page < MAX_PAGES; page++) {
    const count = await retryConflicts(() =>
      postgres.asTenant(tenant_id, async (tx) => {
        const now = new Date(clock.now_ms());
        const terms = { cancelled_by: user_id, now, limit: MAX_ENDED };
        const found = await endRuns(tx, scope, terms);
        if (found > 0) {
          const after = { ...of, cancelled: found };
          await audit(tx, { tenant_id, project_id, resource_id: journey_id, before: null, after });
        }
        return found;
      }),
    );
    if (count === 0) break;
    cancelled += count;
  }
  return cancelled;
}
