import { plainArray } from '../../../platform/postgres/arrays.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { RuleProduct } from '../../../tenants/licence/rule.ts';
import type { Channel } from '../../../tenants/config/channels.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { isUuid } from '../../../platform/ids.ts';
import type { Found, References } from './references.ts';

/** Looks up records of rooms that this one does not know. Absent: they are not checked. */
export interface ReferenceLookUps {
  /** Those of these bonus templates from which can be granted. */
  bonusTemplates?: (tx: Tx, project: ProjectRef, ids: readonly string[]) => Promise<ReadonlySet<string>>;
  /** What the tenant's licence says against each of these offers of bonuses to players directly. */
  offerFaults?: (
    tx: Tx,
    project: ProjectRef,
    offers: readonly { template_id: string; qualifying_product: RuleProduct | null }[],
  ) => Promise<string[][]>;
  /** Whether the project has a secret to sign webhooks with. */
  hasWebhookSecret?: (tx: Tx, project: ProjectRef) => Promise<boolean>;
}

/** Looks up what a definition refers to; deleted records do not exist. */
export async function lookUp(
  tx: Tx,
  project: ProjectRef,
  references: References,
  { bonusTemplates, offerFaults, hasWebhookSecret }: ReferenceLookUps,
): Promise<Found> {
  const { tenant_id, project_id } = project;
  const ids = (mentions: readonly { id: string }[]) => [
    ...new Set(mentions.map(({ id }) => id).filter(isUuid)),
  ];
  const template_ids = ids(references.messages.map(({ template }) => template));
  const provider_ids = ids(references.messages.map(({ provider }) => provider));
  const segment_ids = ids(references.segments);
  const bonus_ids = ids(references.bonus_templates);
  const [templates, providers, segments, bonus_templates, bonus_faults, has_webhook_secret] =
    await Promise.all([
      tx<{ id: string; channel: Channel; is_active: boolean }[]>`
      select template_id as id, channel, status = 'active' as is_active from templates
      where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
        and template_id = any (${plainArray(template_ids)}::text::uuid[])`,
      tx<{ id: string; channel: Channel }[]>`
      select provider_id as id, channel from messaging_providers
      where tenant_id = ${tenant_id} and deleted_at is null and provider_id = any (${plainArray(provider_ids)}::text::uuid[])`,
      tx<{ id: string }[]>`
      select segment_id as id from segments
      where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
        and segment_id = any (${plainArray(segment_ids)}::text::uuid[])`,
      bonus_ids.length === 0 ? undefined : bonusTemplates?.(tx, project, bonus_ids),
      bonus_ids.length === 0
        ? undefined
        : offerFaults?.(
            tx,
            project,
            references.bonus_templates.map(({ id, qualifying_product }) => ({
              template_id: id,
              qualifying_product,
            })),
          ),
      references.webhooks.length === 0 ? undefined : hasWebhookSecret?.(tx, project),
    ]);
  return {
    templates: new Map(templates.map((row) => [row.id, row])),
    providers: new Map(providers.map((row) => [row.id, row])),
    segments: new Set(segments.map(({ id }) => id)),
    bonus_templates: bonusTemplates === undefined ? undefined : (bonus_templates ?? new Set()),
    bonus_faults: bonus_faults ?? [],
    has_webhook_secret,
  };
}
