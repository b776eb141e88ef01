import type { AnyEndpoint } from '../../../http/endpoint.ts';
import { resourceEndpoints } from '../../../http/resource-endpoints.ts';
import type { Platform } from '../../../platform/platform.ts';
import { listSaved } from './queries.ts';
import { DASHBOARD, INSIGHT, savedJson, savedRecords } from './saved.ts';
import {
  COMPUTED_FIELDS,
  createDashboardBody,
  createInsightBody,
  dashboardResource,
  insightResource,
  patchDashboardBody,
  patchInsightBody,
} from './schema.ts';

/** Saved insights and dashboards: viewers read them, editors write them. */
export function savedInsightEndpoints(platform: Platform): AnyEndpoint[] {
  return [...insightResources(platform), ...dashboardResources(platform)];
}

function insightResources(platform: Platform): AnyEndpoint[] {
  const { find, create, change, remove } = savedRecords(INSIGHT);
  return resourceEndpoints(platform, {
    collection: 'insights',
    kind: INSIGHT,
    audited: 'insight',
    writer: 'editor',
    response: insightResource,
    toJson: savedJson(INSIGHT),
    image: savedJson(INSIGHT),
    filters: {},
    list: (tx, project, _filters, after, limit) => listSaved(tx, INSIGHT, project, after, limit),
    find,
    create: { summary: 'Saves a query', body: createInsightBody, read_only: COMPUTED_FIELDS, run: create },
    change: {
      summary: 'Changes a saved insight',
      body: patchInsightBody,
      read_only: COMPUTED_FIELDS,
      run: change,
    },
    remove: {
      summary: 'Soft delete. Refused while a dashboard shows it',
      errors: ['CONFLICT'],
      run: remove,
    },
  });
}

function dashboardResources(platform: Platform): AnyEndpoint[] {
  const { find, create, change, remove } = savedRecords(DASHBOARD);
  return resourceEndpoints(platform, {
    collection: 'dashboards',
    kind: DASHBOARD,
    audited: 'dashboard',
    writer: 'editor',
    response: dashboardResource,
    toJson: savedJson(DASHBOARD),
    image: savedJson(DASHBOARD),
    filters: {},
    list: (tx, project, _filters, after, limit) => listSaved(tx, DASHBOARD, project, after, limit),
    find,
    create: {
      summary: 'Creates a dashboard of up to 24 saved insights',
      body: createDashboardBody,
      read_only: COMPUTED_FIELDS,
      run: create,
    },
    change: {
      summary: 'Changes a dashboard',
      body: patchDashboardBody,
      read_only: COMPUTED_FIELDS,
      run: change,
    },
    remove: {
      summary: 'Soft delete; its insights stay. Refused while a report sends it',
      errors: ['CONFLICT'],
      run: remove,
    },
  });
}
