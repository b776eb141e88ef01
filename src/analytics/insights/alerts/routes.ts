import { endpoint, type AnyEndpoint } from '../../../http/endpoint.ts';
import { envelopeOfText } from '../../../http/envelope.ts';
import { resourceEndpoints } from '../../../http/resource-endpoints.ts';
import type { Platform } from '../../../platform/platform.ts';
import { projectRefOf } from '../../../tenants/project-ref.ts';
import type { InsightRunner } from '../runner.ts';
import { listSaved } from '../saved/queries.ts';
import { savedJson, savedRecords } from '../saved/saved.ts';
import { alertJson, alertKind, changeAlert, createAlert } from './alerts.ts';
import { previewAlert } from './preview.ts';
import {
  alertPreview,
  alertResource,
  COMPUTED_FIELDS,
  createAlertBody,
  patchAlertBody,
  PREVIEW_DAYS,
  previewBody,
} from './schema.ts';

/** What reading the query of an alert can lead to. */
const ERRORS = ['SEGMENT_NOT_FOUND', 'SEGMENT_DEFINITION_INVALID'] as const;

/** Alerts over insights: viewers read and preview them, editors write them. */
export function alertEndpoints(platform: Platform & { runner: InsightRunner }): AnyEndpoint[] {
  const kind = alertKind(platform);
  const { find, remove } = savedRecords(kind);
  return [
    ...resourceEndpoints(platform, {
      collection: 'alerts',
      kind,
      audited: 'alert',
      writer: 'editor',
      response: alertResource,
      toJson: alertJson(kind),
      image: savedJson(kind),
      filters: {},
      list: (tx, project, _filters, after, limit) => listSaved(tx, kind, project, after, limit),
      find,
      create: {
        summary: 'Creates an alert: intervals are decided once they are over',
        body: createAlertBody,
        read_only: COMPUTED_FIELDS,
        errors: ['CONFLICT', ...ERRORS],
        run: createAlert,
      },
      change: {
        summary: 'Changes an alert; intervals that are decided stay so',
        body: patchAlertBody,
        read_only: COMPUTED_FIELDS,
        errors: ERRORS,
        run: changeAlert,
      },
      remove: { summary: 'Soft delete; notices that wait are still sent', run: remove },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/alerts/preview',
      load: 'elsewhere',
      summary: `Which intervals of the last ${PREVIEW_DAYS} days would have fired`,
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      audit: { none: 'it changes nothing' },
      body: previewBody,
      response: alertPreview,
      errors: [...ERRORS, 'INSIGHT_TOO_EXPENSIVE', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
      handle: async ({ caller, body }) =>
        envelopeOfText(await previewAlert(platform, projectRefOf(caller), body)),
    }),
  ];
}
