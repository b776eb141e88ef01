import { readMoney } from '../../../engage/templates/money-catalogue.ts';
import { ApiError } from '../../../errors.ts';
import { exactJson } from '../../../platform/exact-json.ts';
import { newId } from '../../../platform/ids.ts';
import { reportingZone } from '../../../tenants/config/read.ts';
import { ClosedDays } from '../closed-days.ts';
import { DueEvaluator, SETTLE_MS, type EvaluatorDeps, type Look } from '../due/evaluator.ts';
import { conclude, forgetFailures, REPORTS, type Claimed } from '../due/queries.ts';
import { insertNotices, type NewNotice } from '../notices/queries.ts';
import { mailOf, payloadOf, type MadeReport } from './message.ts';
import { lastTime, nextTime } from './schedule.ts';
import type { ReportContent } from './schema.ts';
import { askTiles, readBoard, type Tile, type TileDeps } from './tiles.ts';

/** Evaluations of one time; then a report goes out with the tiles that have figures. */
export const MAX_ATTEMPTS = 5;

type Deps = EvaluatorDeps & { public_url: string };
type ClaimedReport = Claimed<'report_id', ReportContent>;

/**
 * Makes reports that are due. The notices of a time and the new position are written in one transaction, so each time is
 * decided once; of several that have passed only the newest one is sent. `public_url`: where the console is.
 */
export function reportEvaluator(deps: Deps): DueEvaluator<'report_id', ReportContent> {
  const closed_days = new ClosedDays();
  return new DueEvaluator(deps, REPORTS, (claimed, look) =>
    decideClaimed({ ...deps, closed_days }, claimed, look),
  );
}

async function decideClaimed(deps: Deps & TileDeps, claimed: ClaimedReport, look: Look): Promise<void> {
  const { postgres, clock } = deps;
  const { tenant_id, content } = claimed;
  const zone = await reportingZone(postgres, tenant_id);
  const begun_ms = (claimed.decided_until ?? claimed.created_at).getTime();
  const due_ms = lastTime(zone, content.schedule, look.known_ms - SETTLE_MS);
  const is_due = due_ms > begun_ms;
  const after_ms = is_due ? due_ms : begun_ms;
  const next = {
    decided_until: is_due ? new Date(due_ms) : claimed.decided_until,
    next_at: new Date(nextTime(zone, content.schedule, after_ms) + SETTLE_MS),
  };
  const made = is_due ? await make(deps, claimed, { zone, due_ms }, look) : undefined;
  const now = new Date(clock.now_ms());
  const notices = made === undefined ? [] : await noticesOf(claimed, made, now);
  await postgres.service.begin(async (tx) => {
    if (await conclude(tx, REPORTS, claimed, next)) await insertNotices(tx, notices, now);
  });
}

async function make(
  deps: Deps & TileDeps,
  claimed: ClaimedReport,
  due: Pick<MadeReport, 'zone' | 'due_ms'>,
  { isOver }: Look,
): Promise<MadeReport> {
  const { tenant_id, project_id, name, content, failed_at } = claimed;
  const is_first = failed_at === null || failed_at.getTime() < due.due_ms;
  if (is_first && claimed.failures > 0) await forgetFailures(deps.postgres.service, REPORTS, claimed);
  const project = { tenant_id, project_id };
  const board = await readBoard(deps, project, content.dashboard_id, due);
  if (board === undefined) throw new ApiError('DASHBOARD_NOT_FOUND', 'the dashboard does not exist');
  const tiles = await askTiles(deps, project, board, isOver);
  requireFigures(tiles, is_first ? 1 : claimed.failures + 1);
  const money = await readMoney(deps.postgres.service, tenant_id);
  return { ...due, project, name, board, tiles, money, public_url: deps.public_url };
}

/**
 * Throws the fault of a tile that may have figures later: for some attempts of any, then only when no tile has any, for a
 * report of faults alone is sent only if they stay.
 */
function requireFigures(tiles: readonly Tile[], attempt: number): void {
  const faults = tiles.flatMap(({ fault }) => (fault?.is_temporary ? [fault] : []));
  const [first] = faults;
  if (first === undefined) return;
  if (attempt >= MAX_ATTEMPTS && tiles.some(({ answer }) => answer !== null)) return;
  const retry_after_s = Math.ceil(Math.max(...faults.map(({ asked_ms }) => asked_ms)) / 1_000);
  const code = first.code === 'RATE_LIMITED' ? 'RATE_LIMITED' : 'SERVICE_UNAVAILABLE';
  throw new ApiError(code, first.message, { retry_after_s });
}

async function noticesOf(claimed: ClaimedReport, made: MadeReport, now: Date): Promise<NewNotice[]> {
  const { tenant_id, project_id, report_id, content } = claimed;
  const { receivers } = content;
  // Written once for all: pictures make it large.
  const mail = receivers.some(({ kind }) => kind === 'email') ? exactJson(await mailOf(made)) : '';
  return receivers.map((receiver) => {
    const notice_id = newId();
    const sent =
      receiver.kind === 'email'
        ? mail
        : exactJson({ payload: payloadOf(made, { notice_id, report_id, now }) });
    return { tenant_id, project_id, notice_id, owner_id: report_id, receiver, content: sent };
  });
}
