import type { Template, TemplateReferences } from '@player-engagement/client/admin';
import { everyOf, type Channel } from '../../api/choices.ts';
import { useList, useRead } from '../../api/queries.ts';

export type {
  AuditLogEntry as AuditRecord,
  Template as TemplateRecord,
} from '@player-engagement/client/admin';

/** A campaign or journey that uses a template. */
export type TemplateUser = TemplateReferences['campaigns'][number];

export type TemplateStatus = Template['status'];
export const STATUSES = everyOf<TemplateStatus>()(['draft', 'active', 'archived']);

export function useTemplates(channel: Channel | undefined, status: TemplateStatus | undefined) {
  return useList('templates.list', [{ channel, status }]);
}

export function useTemplate(id: string, enabled: boolean) {
  return useRead('templates.get', [id], { enabled });
}

export function useReferences(id: string) {
  return useRead('templates.references', [id]);
}
