import { plainArray } from '../../platform/postgres/arrays.ts';
import { recipientOf, statusSql, verdictSql, type Gate } from '../messaging/gate-queries.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import type { Audience, RowVariant } from './fan-out-queries.ts';
import type { CampaignRef } from './queries.ts';
import { exactJson } from '../../platform/exact-json.ts';

/** A triggered campaign that is `sending`, and the event that fires it. */
export interface ArmedCampaign extends CampaignRef {
  trigger_event: string;
  started_at: Date;
}

/** The triggered campaigns of these projects that are `sending`. */
export async function selectArmedCampaigns(
  sql: Tx,
  projects: readonly ProjectRef[],
): Promise<ArmedCampaign[]> {
  return sql<ArmedCampaign[]>`
    select tenant_id, project_id, campaign_id, trigger_event, started_at
    from campaigns
    where (tenant_id, project_id) in (
        select * from ${rowsOf(sql, 'r', projects, PROJECT_KEY)})
      and status = 'sending' and type = 'triggered' and trigger_event is not null`;
}

/** Stores why the campaign's events cannot be decided now; null: they can. */
export async function noteTriggerFailure(
  sql: Tx,
  { tenant_id, project_id, campaign_id }: CampaignRef,
  message: string | null,
): Promise<void> {
  await sql`
    update campaigns set last_error = ${message}
    where tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id}
      and status = 'sending' and last_error is distinct from ${message}`;
}

/** An event that fires a campaign for its player, and the player's variant. */
export interface Firing {
  player_id: string;
  /** Identifies the event: one event fires a campaign once. */
  dedup_key: string;
  properties: Record<string, unknown>;
  variant: RowVariant;
}

/** The time zones of players, each once; null stands for players without one. */
export async function selectPlayerZones(
  tx: Tx,
  { tenant_id, project_id }: Pick<Audience, 'tenant_id' | 'project_id'>,
  player_ids: readonly string[],
): Promise<(string | null)[]> {
  const rows = await tx<{ timezone: string | null }[]>`
    select distinct timezone from players
    where tenant_id = ${tenant_id} and project_id = ${project_id}
      and player_id = any(${plainArray(player_ids)}::text::uuid[])`;
  return rows.map(({ timezone }) => timezone);
}

/**
 * Inserts send rows for the firings, except for deleted players. Idempotent: an event that has fired the campaign before
 * adds no row. Returns how many rows were added.
 */
export async function insertFirings(
  tx: Tx,
  audience: Audience & { provider_id: string | null },
  firings: readonly Firing[],
  gate: Gate,
): Promise<number> {
  const { tenant_id, project_id, campaign_id, channel, provider_id } = audience;
  const recipient = recipientOf(tx, channel);
  const { count } = await tx`
    insert into message_sends (tenant_id, project_id, send_id, campaign_id, dedup_key, player_id, channel, template_id,
      variant_id, provider_id, recipient, status, error_code, context, enqueued_at)
    select j.tenant_id, j.project_id, new_id(), ${campaign_id}, j.dedup_key, j.player_id, ${channel}, j.template_id,
      j.variant_id, ${provider_id}, j.recipient,
      ${statusSql(tx, 'queued')}, j.verdict, j.context, ${gate.now}
    from (
      select p.tenant_id, p.project_id, p.player_id, f.dedup_key, f.template_id, f.variant_id, f.context::jsonb as context,
        ${recipient.address} as recipient, ${verdictSql(tx, gate, recipient, tx`f.bonus_product`)} as verdict
      from ${rowsOf(tx, 'f', firings, {
        player_id: 'uuid',
        dedup_key: 'text',
        variant_id: ['uuid', ({ variant }) => variant.variant_id],
        template_id: ['uuid', ({ variant }) => variant.template_id],
        context: ['text', ({ properties }) => exactJson(properties)],
        bonus_product: ['text', ({ variant }) => variant.bonus_product],
      })}
      cross join lateral (
        select * from players p
        where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.player_id = f.player_id offset 0) p
      where p.deleted_at is null
      offset 0
    ) j
    on conflict (tenant_id, project_id, campaign_id, player_id, dedup_key) do nothing`;
  return count;
}
