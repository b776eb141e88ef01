import { readMoney } from '../../../engage/templates/money-catalogue.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { reportingZone } from '../../../tenants/config/read.ts';
import { mailOf } from './message.ts';
import { notOfProject } from './reports.ts';
import { nextTime } from './schedule.ts';
import { PREVIEWED_TIMES, type PreviewReportBody } from './schema.ts';
import { askTiles, readBoard, type TileDeps } from './tiles.ts';

/** A preview asks no further tile after so long. */
const PREVIEW_MS = 15_000;

/** When a report is sent next, and what it would say if now were its time. Rejects with VALIDATION_ERROR. */
export async function previewReport(
  deps: TileDeps & { public_url: string },
  project: ProjectRef,
  { name, dashboard_id, schedule }: PreviewReportBody,
) {
  const { postgres, clock } = deps;
  const zone = await reportingZone(postgres, project.tenant_id);
  const due_ms = clock.now_ms();
  const board = await readBoard(deps, project, dashboard_id, { zone, due_ms });
  if (board === undefined) throw notOfProject();
  const tiles = await askTiles(deps, project, board, () => clock.now_ms() - due_ms > PREVIEW_MS);
  const money = await readMoney(postgres.service, project.tenant_id);
  const { public_url } = deps;
  const mail = await mailOf({ project, name, board, tiles, due_ms, zone, money, public_url });
  const { subject, text, html, pictures } = mail;
  const times: string[] = [];
  for (let at_ms = due_ms; times.length < PREVIEWED_TIMES;) {
    at_ms = nextTime(zone, schedule, at_ms);
    times.push(new Date(at_ms).toISOString());
  }
  const shown = pictures.reduce(
    (of, { cid, png }) => of.replace(`"cid:${cid}"`, `"data:image/png;base64,${png}"`),
    html,
  );
  return { timezone: zone.name, times, subject, text, html: shown };
}
