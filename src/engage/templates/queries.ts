import type { PendingQuery, Row } from 'postgres';
import { verdictSql, type Gate } from '../messaging/gate-queries.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import type { SkipCode } from '../messaging/send-row.ts';
import {
  beyond,
  microseconds,
  type Listed,
  type TimePosition,
} from '../../platform/postgres/newest-first.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { Place } from '../../tenants/place.ts';
import type { ScopePlayer } from './player-scope.ts';
import type { TemplateStatus } from './schema.ts';

/** Which template of which project. */
export interface TemplateRef extends Place {
  template_id: string;
}

export interface TemplateRow {
  template_id: string;
  name: string;
  channel: Channel;
  status: TemplateStatus;
  subject: string | null;
  preheader: string | null;
  body: string;
  data: Record<string, string>;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

export interface TemplateFilters {
  channel?: string | undefined;
  status?: string | undefined;
}

function columns(tx: Tx) {
  return tx`template_id, name, channel, status, subject, preheader, body, data, created_at, updated_at, deleted_at`;
}

function itself(tx: Tx, { tenant_id, project_id, template_id }: TemplateRef) {
  return tx`tenant_id = ${tenant_id} and project_id = ${project_id} and template_id = ${template_id}`;
}

/** The template, deleted or not; no row when the project has none of this id. */
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
  { tenant_id, project_id }: Place,
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
  { tenant_id, project_id }: Place,
  row: TemplateRow,
): Promise<void> {
  await tx`
    insert into templates (tenant_id, project_id, template_id, name, channel, status, subject, preheader, body, data,
      created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${row.template_id}, ${row.name}, ${row.channel}, ${row.status},
      ${row.subject}, ${row.preheader}, ${row.body}, ${JSON.stringify(row.data)}::text::jsonb, ${row.created_at},
      ${row.updated_at})`;
}

/** Changes a locked template. */
export async function updateTemplate(tx: Tx, ref: TemplateRef, row: TemplateRow): Promise<void> {
  await tx`
    update templates set
      name = ${row.name}, status = ${row.status}, subject = ${row.subject}, preheader = ${row.preheader},
      body = ${row.body}, data = ${JSON.stringify(row.data)}::text::jsonb, updated_at = ${row.updated_at}
    where ${itself(tx, ref)}`;
}

/** Soft delete; a template deleted before keeps its time. */
export async function softDeleteTemplate(tx: Tx, ref: TemplateRef, now: Date): Promise<void> {
  await tx`
    update templates set deleted_at = ${now}, updated_at = ${now} where ${itself(tx, ref)} and deleted_at is null`;
}

/** What templates may know of the player; no row when the project has none of this id. */
export function selectScopePlayer(tx: Tx, place: Place, player_id: string): PendingQuery<ScopePlayer[]> {
  return tx<ScopePlayer[]>`
    select p.player_id, p.external_id, p.email, p.phone, p.timezone, p.default_currency_code, p.current_tier_code,
      p.custom_attributes
    from players p
    where p.tenant_id = ${place.tenant_id} and p.project_id = ${place.project_id} and p.player_id = ${player_id}`;
}

/** Why the player must not be told anything at `recipient`; null: it may. No row when the project has no such player. */
export function selectVerdict(
  tx: Tx,
  place: Place,
  player_id: string,
  gate: Gate,
  recipient: string,
): PendingQuery<{ verdict: SkipCode | null }[]> {
  return tx<{ verdict: SkipCode | null }[]>`
    select ${verdictSql(tx, gate, tx`${recipient}::text`)} as verdict
    from players p
    where p.tenant_id = ${place.tenant_id} and p.project_id = ${place.project_id} and p.player_id = ${player_id}`;
}

/** Whether the address gets nothing more on the channel. */
export function selectSuppressed(
  tx: Tx,
  tenant_id: string,
  channel: Channel,
  recipient: string,
): PendingQuery<{ reason: string }[]> {
  return tx<{ reason: string }[]>`
    select reason from suppressions
    where tenant_id = ${tenant_id} and channel = ${channel} and address = lower(${recipient}::text)`;
}

/**
 * Why people of the project who have this address must not be written to; no rows: none of them is kept from it. It is
 * theirs however it is written: letters of either case, a number with or without what makes it readable. Who was deleted
 * is excluded all the same.
 */
export function selectAddresseeVerdicts(
  tx: Tx,
  { tenant_id, project_id }: Place,
  channel: Channel,
  recipient: string,
  now: Date,
): PendingQuery<{ verdict: SkipCode }[]> {
  const isTheirs = {
    email: tx`lower(p.email) = lower(${recipient}::text)`,
    sms: tx`${dialled(tx, tx`p.phone`)} = ${dialled(tx, tx`${recipient}::text`)}`,
    push: tx`p.custom_attributes ->> 'push_token' = ${recipient}`,
  };
  // The condition in brackets implies that of the index players_not_to_be_written_to: few rows are read.
  return tx<{ verdict: SkipCode }[]>`
    select distinct case
      when p.self_excluded or p.status = 'self_excluded' then 'SKIPPED_SELF_EXCLUDED'
      when p.status = 'banned' then 'SKIPPED_BANNED'
      else 'SKIPPED_COOLDOWN' end as verdict
    from players p
    where p.tenant_id = ${tenant_id} and p.project_id = ${project_id}
      and (p.self_excluded or p.status in ('self_excluded', 'banned') or p.cooldown_until > ${now})
      and ${isTheirs[channel]}`;
}

/** The digits that reach a telephone from abroad, without those that only stand for `+` or a call at home. */
function dialled(tx: Tx, phone: PendingQuery<Row[]>): PendingQuery<Row[]> {
  return tx`ltrim(regexp_replace(${phone}, '[(]0[)]|[^0-9]', '', 'g'), '0')`;
}
