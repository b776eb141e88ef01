import type { PendingQuery } from 'postgres';
import { plainArray } from '../../platform/postgres/arrays.ts';
import { beyond, microseconds, type Listed, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import type { BonusTemplateFilters, BonusTemplateStatus } from './schema.ts';
import type { TermsSource } from './terms.ts';

/** The key of a bonus template. */
export interface BonusTemplateRef extends ProjectRef {
  template_id: string;
}

/** A licence rule that the template breaks, but that only warns. */
export interface LicenceWarning {
  rule_id: string;
  message: string;
}

/** A bonus template as Postgres has it. */
export interface BonusTemplateRow extends TermsSource {
  status: BonusTemplateStatus;
  max_grants_per_player: number | null;
  grant_window_days: number | null;
  exclusion_group: string | null;
  /** In the smallest unit of the tenant's base currency. */
  budget_base: bigint | null;
  min_kyc_level: number | null;
  eligible_segment_id: string | null;
  licence_warnings: readonly LicenceWarning[];
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

function columns(tx: Tx) {
  return tx`template_id, name, type, config, wagering_requirement_multiplier, wagering_basis, game_contribution,
    max_bet_during_wagering, max_win_cap, max_bet_action, time_limit_hours, wallet_model, product, status,
    max_grants_per_player, grant_window_days, exclusion_group, budget_base, min_kyc_level, eligible_segment_id, version,
    licence_warnings, created_at, updated_at, deleted_at`;
}

function itself(tx: Tx, { tenant_id, project_id, template_id }: BonusTemplateRef) {
  return tx`tenant_id = ${tenant_id} and project_id = ${project_id} and template_id = ${template_id}`;
}

/** The template, deleted or not; no row when the project has no bonus template of this id. */
export function selectBonusTemplate(tx: Tx, ref: BonusTemplateRef): PendingQuery<BonusTemplateRow[]> {
  return tx<BonusTemplateRow[]>`select ${columns(tx)} from bonus_templates where ${itself(tx, ref)}`;
}

/** These templates, deleted or not, each once. Every id must be a UUID. */
export async function selectBonusTemplates(
  tx: Tx,
  refs: readonly BonusTemplateRef[],
): Promise<BonusTemplateRow[]> {
  return tx<BonusTemplateRow[]>`
    select t.* from (select distinct * from ${rowsOf(tx, 'u', refs, { ...PROJECT_KEY, template_id: 'uuid' })}) r
    cross join lateral (
      select ${columns(tx)} from bonus_templates t
      where t.template_id = r.template_id and t.tenant_id = r.tenant_id and t.project_id = r.project_id offset 0) t`;
}

/** The template, if it is not deleted, locked against change until the transaction ends. */
export async function lockBonusTemplate(
  tx: Tx,
  ref: BonusTemplateRef,
): Promise<BonusTemplateRow | undefined> {
  const [row] = await tx<BonusTemplateRow[]>`
    select ${columns(tx)} from bonus_templates where ${itself(tx, ref)} and deleted_at is null for no key update`;
  return row;
}

/** A page of the bonus templates that are not deleted, the newest first. */
export function listBonusTemplates(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  filters: BonusTemplateFilters,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<Listed<BonusTemplateRow>[]> {
  const nothing = tx``;
  return tx<Listed<BonusTemplateRow>[]>`
    select ${columns(tx)}, ${microseconds(tx, 'created_at')} as created_us
    from bonus_templates
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
      ${filters.status === undefined ? nothing : tx`and status = ${filters.status}`}
      ${filters.type === undefined ? nothing : tx`and type = ${filters.type}`}
      ${beyond(tx, 'created_at', 'template_id', after)}
    order by created_at desc, template_id desc
    limit ${limit}`;
}

/** Those of these templates of several projects that are active and not deleted. Every id must be a UUID. */
export async function selectGrantableOf(
  tx: Tx,
  refs: readonly BonusTemplateRef[],
): Promise<{ project_id: string; template_id: string; is_cashback: boolean }[]> {
  if (refs.length === 0) return [];
  return tx<{ project_id: string; template_id: string; is_cashback: boolean }[]>`
    select r.project_id, t.template_id, t.is_cashback from ${rowsOf(tx, 'r', refs, { ...PROJECT_KEY, template_id: 'uuid' })}
    cross join lateral (
      select t.template_id, t.type = 'cashback' as is_cashback from bonus_templates t
      where t.template_id = r.template_id and t.tenant_id = r.tenant_id and t.project_id = r.project_id
        and t.deleted_at is null and t.status = 'active' offset 0) t`;
}

/** Those of these templates that are active and not deleted. */
export async function selectGrantable(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx<{ template_id: string }[]>`
    select t.template_id
    from unnest(${plainArray(ids)}::text::uuid[]) as asked (template_id)
    cross join lateral (
      select template_id from bonus_templates
      where template_id = asked.template_id and tenant_id = ${tenant_id} and project_id = ${project_id}
        and deleted_at is null and status = 'active'
      offset 0) as t`;
  return new Set(rows.map(({ template_id }) => template_id));
}

/** Whether the project has this segment, not deleted. */
export async function segmentExists(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  segment_id: string,
): Promise<boolean> {
  const rows = await tx`
    select from segments
    where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}
      and deleted_at is null`;
  return rows.length > 0;
}

const json = (value: unknown) => (value === null ? null : JSON.stringify(value));

export async function insertBonusTemplate(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  row: BonusTemplateRow,
): Promise<void> {
  await tx`
    insert into bonus_templates (tenant_id, project_id, template_id, name, type, config,
      wagering_requirement_multiplier, wagering_basis, game_contribution, max_bet_during_wagering, max_win_cap,
      max_bet_action, time_limit_hours, wallet_model, product, status, max_grants_per_player, grant_window_days,
      exclusion_group, budget_base, min_kyc_level, eligible_segment_id, version, licence_warnings, created_at,
      updated_at)
    values (${tenant_id}, ${project_id}, ${row.template_id}, ${row.name}, ${row.type},
      ${json(row.config)}::text::jsonb, ${row.wagering_requirement_multiplier}::text::numeric, ${row.wagering_basis},
      ${json(row.game_contribution)}::text::jsonb, ${row.max_bet_during_wagering}::text::numeric,
      ${row.max_win_cap}::text::numeric, ${row.max_bet_action}, ${row.time_limit_hours}, ${row.wallet_model},
      ${row.product}, ${row.status}, ${row.max_grants_per_player}, ${row.grant_window_days}, ${row.exclusion_group},
      ${row.budget_base}, ${row.min_kyc_level}, ${row.eligible_segment_id}, ${row.version},
      ${json(row.licence_warnings)}::text::jsonb, ${row.created_at}, ${row.updated_at})`;
}

/** Changes a locked template. */
export async function updateBonusTemplate(
  tx: Tx,
  ref: BonusTemplateRef,
  row: BonusTemplateRow,
): Promise<void> {
  await tx`
    update bonus_templates set
      name = ${row.name}, config = ${json(row.config)}::text::jsonb,
      wagering_requirement_multiplier = ${row.wagering_requirement_multiplier}::text::numeric,
      wagering_basis = ${row.wagering_basis}, game_contribution = ${json(row.game_contribution)}::text::jsonb,
      max_bet_during_wagering = ${row.max_bet_during_wagering}::text::numeric,
      max_win_cap = ${row.max_win_cap}::text::numeric, max_bet_action = ${row.max_bet_action},
      time_limit_hours = ${row.time_limit_hours}, wallet_model = ${row.wallet_model}, product = ${row.product},
      status = ${row.status}, max_grants_per_player = ${row.max_grants_per_player},
      grant_window_days = ${row.grant_window_days}, exclusion_group = ${row.exclusion_group},
      budget_base = ${row.budget_base}, min_kyc_level = ${row.min_kyc_level},
      eligible_segment_id = ${row.eligible_segment_id}, version = ${row.version},
      licence_warnings = ${json(row.licence_warnings)}::text::jsonb, updated_at = ${row.updated_at}
    where ${itself(tx, ref)}`;
}

/** Soft delete; a template that was deleted before keeps its time. */
export async function softDeleteBonusTemplate(tx: Tx, ref: BonusTemplateRef, now: Date): Promise<void> {
  await tx`
    update bonus_templates set deleted_at = ${now}, updated_at = ${now}
    where ${itself(tx, ref)} and deleted_at is null`;
}

/** The tenant's templates that are not deleted, of all projects, after one in order of their keys. */
export async function selectTemplatesAfter(
  sql: Tx,
  { tenant_id, project_id, template_id }: BonusTemplateRef,
  limit: number,
): Promise<(BonusTemplateRow & { project_id: string })[]> {
  return sql<(BonusTemplateRow & { project_id: string })[]>`
    select project_id, ${columns(sql)} from bonus_templates
    where tenant_id = ${tenant_id} and (project_id, template_id) > (${project_id}::uuid, ${template_id}::uuid)
      and deleted_at is null
    order by project_id, template_id limit ${limit}`;
}

/** Sets what the rules say of a template whose terms are still those of `version`. */
export async function setLicenceWarnings(
  sql: Tx,
  ref: BonusTemplateRef,
  version: number,
  warnings: readonly LicenceWarning[],
): Promise<void> {
  await sql`
    update bonus_templates set licence_warnings = ${JSON.stringify(warnings)}::text::jsonb
    where ${itself(sql, ref)} and version = ${version} and licence_warnings <> ${JSON.stringify(warnings)}::text::jsonb`;
}
