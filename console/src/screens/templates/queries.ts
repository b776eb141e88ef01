import { useList, useRead } from '../../api/queries.ts';

export const CHANNELS = ['email', 'sms', 'push'] as const;
export type Channel = (typeof CHANNELS)[number];
export const STATUSES = ['draft', 'active', 'archived'] as const;
export type TemplateStatus = (typeof STATUSES)[number];

/** A template (spec part 2), as far as the screens show it. */
export interface TemplateRecord {
  id: string;
  name: string;
  channel: Channel;
  status: TemplateStatus;
  subject: string | null;
  preheader: string | null;
  body: string;
  bonus_product: string | null;
  updated_at: string;
}

export function useTemplates(channel: string | undefined, status: string | undefined) {
  return useList<TemplateRecord>('/v1/templates', { channel, status });
}

export function useTemplate(id: string, enabled: boolean) {
  return useRead<TemplateRecord>(`/v1/templates/${id}`, {}, { enabled });
}

/** A campaign or journey that uses a template. */
export interface TemplateUser {
  id: string;
  name: string;
  status: string;
}

export function useReferences(id: string) {
  return useRead<{ campaigns: TemplateUser[]; journeys: TemplateUser[] }>(`/v1/templates/${id}/references`);
}
