import { endpoint, type AnyEndpoint } from '../../../http/endpoint.ts';
import { envelope } from '../../../http/envelope.ts';
import { resourceEndpoints } from '../../../http/resource-endpoints.ts';
import type { Platform } from '../../../platform/platform.ts';
import { projectRefOf } from '../../../tenants/project-ref.ts';
import { ClosedDays } from '../closed-days.ts';
import type { InsightRunner } from '../runner.ts';
import { listSaved } from '../saved/queries.ts';
import { savedJson, savedRecords } from '../saved/saved.ts';
import { previewReport } from './preview.ts';
import { reportJson, reportKind } from './reports.ts';
import {
  COMPUTED_FIELDS,
  createReportBody,
  patchReportBody,
  previewReportBody,
  reportPreview,
  reportResource,
} from './schema.ts';

/** Reports of dashboards: viewers read and preview them, editors write them. `public_url`: where the console is. */
export function reportEndpoints(
  platform: Platform & { runner: InsightRunner; public_url: string },
): AnyEndpoint[] {
  const kind = reportKind(platform);
  const { find, create, change, remove } = savedRecords(kind);
  const previewing = { ...platform, closed_days: new ClosedDays() };
  return [
    ...resourceEndpoints(platform, {
      collection: 'reports',
      kind,
      audited: 'report',
      writer: 'editor',
      response: reportResource,
      toJson: reportJson(kind),
      image: savedJson(kind),
      filters: {},
      list: (tx, project, _filters, after, limit) => listSaved(tx, kind, project, after, limit),
      find,
      create: {
        summary: 'Creates a report: the tiles of a dashboard by a schedule',
        body: createReportBody,
        read_only: COMPUTED_FIELDS,
        errors: ['CONFLICT'],
        run: create,
      },
      change: {
        summary: 'Changes a report; with another schedule it begins anew',
        body: patchReportBody,
        read_only: COMPUTED_FIELDS,
        run: change,
      },
      remove: { summary: 'Soft delete; notices that wait are still sent', run: remove },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/reports/preview',
      load: 'elsewhere',
      summary: 'When a report is sent, and what it would say now',
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      audit: { none: 'it changes nothing' },
      body: previewReportBody,
      response: reportPreview,
      errors: [],
      handle: async ({ caller, body }) =>
        envelope(await previewReport(previewing, projectRefOf(caller), body)),
    }),
  ];
}
