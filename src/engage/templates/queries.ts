import type { PendingQuery } from 'postgres';
import type { RuleProduct } from '../../tenants/licence/rule.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import { beyond, microseconds, type Listed, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { TemplateFilters, TemplatePurpose, TemplateStatus } from './schema.ts';
import { exactJson } from '../../platform/exact-json.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';

/** The key of a template. */
export interface TemplateRef extends ProjectRef {
  template_id: string;
}

/** A template as Postgres has it. */
export interface TemplateRow {
  template_id: string;
  name: string;
  channel: Channel;
  status: TemplateStatus;
  subject: string | null;
  preheader: string | null;
  body: string;
  data: Record<string, string>;
  /** The product of the bonus that messages are about, as the author says; null: nothing is said. */
  bonus_product: RuleProduct | null;
  /** The source reads the variable `bonus`. */
  reads_bonus: boolean;
  purpose: TemplatePurpose;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

function columns(tx: Tx) {
  return tx`template_id, name, channel, status, subject, preheader, body, data, bonus_product, reads_bonus, purpose,
    created_at, updated_at, deleted_at`;
}

function itself(tx: Tx, { tenant_id, project_id, template_id }: TemplateRef) {
  return tx`tenant_id = ${tenant_id} and project_id = ${project_id} and template_id = ${template_id}`;
}

/** The template, deleted or not; no row when the project has no template of this id. */
export function selectTemplate(tx: Tx, ref: TemplateRef): PendingQuery<TemplateRow[]> {
  return tx<TemplateRow[]>`select ${columns(tx)} from templates where ${itself(tx, ref)}`;
}

/** The template, if it is not deleted, locked against change until the transaction ends. */
export async function lockTemplate(tx: Tx, ref: TemplateRef): Promise<TemplateRow | undefined> {
  const [row] = await tx<TemplateRow[]>`
    select ${columns(tx)} from templates where ${itself(tx, ref)} and deleted_at is null for no key update`;
  return row;
}

/** A page of the templates that are not deleted, the newest first. */
export function listTemplates(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  filters: TemplateFilters,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<Listed<TemplateRow>[]> {
  const nothing = tx``;
  return tx<Listed<TemplateRow>[]>`
    select ${columns(tx)}, ${microseconds(tx, 'created_at')} as created_us
    from templates
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
      ${filters.channel === undefined ? nothing : tx`and channel = ${filters.channel}`}
      ${filters.status === undefined ? nothing : tx`and status = ${filters.status}`}
      ${beyond(tx, 'created_at', 'template_id', after)}
    order by created_at desc, template_id desc
    limit ${limit}`;
}

export async function insertTemplate(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  row: TemplateRow,
): Promise<void> {
  await tx`
    insert into templates (tenant_id, project_id, template_id, name, channel, status, subject, preheader, body, data,
      bonus_product, reads_bonus, purpose, created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${row.template_id}, ${row.name}, ${row.channel}, ${row.status},
      ${row.subject}, ${row.preheader}, ${row.body}, ${exactJson(row.data)}::text::jsonb, ${row.bonus_product},
      ${row.reads_bonus}, ${row.purpose}, ${row.created_at}, ${row.updated_at})`;
}

/** Changes a locked template. */
export async function updateTemplate(tx: Tx, ref: TemplateRef, row: TemplateRow): Promise<void> {
  await tx`
    update templates set
      name = ${row.name}, status = ${row.status}, subject = ${row.subject}, preheader = ${row.preheader},
      body = ${row.body}, data = ${exactJson(row.data)}::text::jsonb,
      bonus_product = ${row.bonus_product}, reads_bonus = ${row.reads_bonus}, purpose = ${row.purpose},
      updated_at = ${row.updated_at}
    where ${itself(tx, ref)}`;
}

/** Soft delete; a template that was deleted before keeps its time. */
export async function softDeleteTemplate(tx: Tx, ref: TemplateRef, now: Date): Promise<void> {
  await tx`
    update templates set deleted_at = ${now}, updated_at = ${now} where ${itself(tx, ref)} and deleted_at is null`;
}

/** Whether one of these templates is for service messages. */
export async function hasServiceTemplate(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  template_ids: readonly string[],
): Promise<boolean> {
  if (template_ids.length === 0) return false;
  const rows = await tx`
    select from templates
    where tenant_id = ${tenant_id} and project_id = ${project_id} and purpose = 'service'
      and template_id = any(${plainArray(template_ids)}::text::uuid[])
    limit 1`;
  return rows.length > 0;
}
