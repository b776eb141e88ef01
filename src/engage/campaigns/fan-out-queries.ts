import type { PendingQuery, Row } from 'postgres';
import type { RuleProduct } from '../../tenants/licence/rule.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import {
  assignedSql,
  recipientOf,
  statusSql,
  verdictSql,
  type Gate,
  type HoldoutCode,
} from '../messaging/gate-queries.ts';
import { groupBy } from '../../platform/group-by.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { PlayerIds } from '../member-ranges/range-queries.ts';
import type { CampaignRef } from './queries.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import { exactJson } from '../../platform/exact-json.ts';
import type { TimedMember, Timing } from './send-time.ts';

/** The members of a campaign's segment, reached on its channel. */
export interface Audience extends CampaignRef {
  /** Null: no members. */
  segment_id: string | null;
  channel: Channel;
}

/** The variant of a send row, its template, and the product of the bonus that the template is about. */
export interface RowVariant {
  variant_id: string;
  template_id: string | null;
  bonus_product: RuleProduct | null;
  /** The template is for service messages. */
  is_service: boolean;
}

/**
 * The members `m` of a range with their players `p`, without deleted players; none when the segment was deleted. By
 * default each player is looked up by its key, even if the statistics of newly filled tables suggest another plan.
 * `as_sets` joins both tables as a whole instead: for very many members that is a fifth of the work.
 */
export function membersSql(
  tx: Tx,
  audience: Audience,
  range: PlayerIds,
  { as_sets }: { as_sets: boolean },
): PendingQuery<Row[]> {
  const { tenant_id, project_id, segment_id } = audience;
  const until = range.until_player_id === null ? tx`` : tx`and m.player_id < ${range.until_player_id}::uuid`;
  return tx`
    from segment_members m
    ${
      as_sets
        ? tx`join players p using (tenant_id, project_id, player_id)`
        : tx`cross join lateral (
            select * from players p
            where p.tenant_id = m.tenant_id and p.project_id = m.project_id and p.player_id = m.player_id offset 0) p`
    }
    where p.deleted_at is null
      and m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.segment_id = ${segment_id}::uuid
      and m.player_id >= ${range.from_player_id}::uuid ${until}
      and exists (
        select from segments s
        where s.tenant_id = m.tenant_id and s.project_id = m.project_id and s.segment_id = m.segment_id
          and s.deleted_at is null)`;
}

/**
 * The members of a range that are not deleted. `with_hours`: with the hours of their sessions; else these are null for all,
 * and nothing is read for them.
 */
export async function selectMembers(
  tx: Tx,
  audience: Audience,
  range: PlayerIds,
  { with_hours }: { with_hours: boolean },
): Promise<TimedMember[]> {
  const hours = with_hours ? tx`p.session_hours` : tx`null::bytea as session_hours`;
  return tx<TimedMember[]>`
    select p.player_id, p.timezone, ${hours} ${membersSql(tx, audience, range, { as_sets: false })}`;
}

/** What the rows of a range have in common, and the variant of each player. */
export interface NewRows {
  audience: Audience;
  provider_id: string | null;
  /** By player_id. */
  choices: ReadonlyMap<string, RowVariant>;
  holdoutOf: HoldoutOf;
  /** When the message to each player is due, by player_id; absent: all at once. */
  due?: ReadonlyMap<string, Timing> | undefined;
}

/** The code of a player who is held out, should the gate let a message of the variant pass; null: it goes out. */
export type HoldoutOf = (player_id: string, variant: RowVariant) => HoldoutCode | null;

/** How many rows were made with an `error_code`; null: those that are queued. */
export interface MadeRows {
  error_code: string | null;
  rows: number;
}

/**
 * Inserts send rows for players: queued, or skipped with the reason; resolves with how many of each. Idempotent: an existing row stays as it is. Quiet hours
 * skip no message that is due later.
 */
export async function insertRows(
  tx: Tx,
  { audience, provider_id, choices, holdoutOf, due }: NewRows,
  gate: Gate,
): Promise<MadeRows[]> {
  const { tenant_id, project_id, campaign_id, channel } = audience;
  const recipient = recipientOf(tx, channel);
  const variants = [...new Set(choices.values())];
  const index_of = new Map(variants.map((variant, i) => [variant, i + 1]));
  const verdict = verdictSql(tx, gate, recipient, tx`c.bonus_product`);
  const timed = timedSql(tx, due);
  // The lateral join looks each player up by its key, regardless of the plan that the statistics suggest.
  const made = await tx<Pick<MadeRows, 'error_code'>[]>`
    insert into message_sends (tenant_id, project_id, send_id, campaign_id, player_id, channel, template_id, variant_id,
      provider_id, recipient, status, error_code, assigned_at, enqueued_at ${timed.columns})
    select j.tenant_id, j.project_id, new_id(), ${campaign_id}, j.player_id, ${channel},
      (${plainArray(variants.map(({ template_id }) => template_id))}::text::uuid[])[j.variant],
      (${plainArray(variants.map(({ variant_id }) => variant_id))}::text::uuid[])[j.variant],
      ${provider_id}, j.recipient, ${statusSql(tx, 'queued')}, j.verdict, ${assignedSql(tx, gate)}, ${gate.now} ${timed.values}
    from (
      select p.tenant_id, p.project_id, p.player_id, c.variant, c.is_service, ${recipient.address} as recipient ${timed.given},
        coalesce(${timed.passes(verdict)}, c.holdout) as verdict
      from ${rowsOf(tx, 'c', [...choices], {
        player_id: ['uuid', ([player_id]) => player_id],
        variant: ['integer', ([, variant]) => index_of.get(variant) ?? null],
        bonus_product: ['text', ([, { bonus_product }]) => bonus_product],
        holdout: ['text', ([player_id, variant]) => holdoutOf(player_id, variant)],
        is_service: ['boolean', ([, { is_service }]) => is_service],
        due_at: due && ['timestamptz', ([player_id]) => due.get(player_id)?.due_at ?? null],
        is_own_hour: due && ['boolean', ([player_id]) => due.get(player_id)?.is_own_hour ?? null],
      })}
      cross join lateral (
        select * from players p
        where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.player_id = c.player_id offset 0) p
      where p.deleted_at is null
      offset 0
    ) j
    on conflict (tenant_id, project_id, campaign_id, player_id, dedup_key) do nothing
    returning error_code`;
  return madeRowsOf(made);
}

function madeRowsOf(rows: readonly Pick<MadeRows, 'error_code'>[]): MadeRows[] {
  const of_codes = groupBy(rows, ({ error_code }) => error_code);
  return [...of_codes].map(([error_code, of_code]) => ({ error_code, rows: of_code.length }));
}

/**
 * What a row has besides when messages are due later. A row that is skipped or held out has none of it. A message may wait for
 * its provider for 24 hours from when it is due. One that is late and comes into quiet hours waits for their end.
 */
function timedSql(tx: Tx, due: NewRows['due']) {
  const none = tx``;
  if (due === undefined)
    return { columns: none, values: none, given: none, passes: (verdict: PendingQuery<Row[]>) => verdict };
  return {
    columns: tx`, retry_at, give_up_at, defers_quiet_hours, is_own_hour`,
    values: tx`, case when j.verdict is null then j.due_at end,
      case when j.verdict is null then j.due_at + interval '24 hours' end, j.verdict is null and j.due_at is not null,
      case when j.verdict is null then j.is_own_hour end`,
    given: tx`, c.due_at, c.is_own_hour`,
    passes: (verdict: PendingQuery<Row[]>) =>
      tx`nullif(${verdict}, case when c.due_at is not null then 'SKIPPED_QUIET_HOURS' end)`,
  };
}

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
 * adds no row. Resolves with how many rows were added, by code.
 */
export async function insertFirings(
  tx: Tx,
  audience: Audience & { provider_id: string | null },
  firings: readonly Firing[],
  holdoutOf: HoldoutOf,
  gate: Gate,
): Promise<MadeRows[]> {
  const { tenant_id, project_id, campaign_id, channel, provider_id } = audience;
  const recipient = recipientOf(tx, channel);
  const made = await tx<Pick<MadeRows, 'error_code'>[]>`
    insert into message_sends (tenant_id, project_id, send_id, campaign_id, dedup_key, player_id, channel, template_id,
      variant_id, provider_id, recipient, status, error_code, assigned_at, context, enqueued_at)
    select j.tenant_id, j.project_id, new_id(), ${campaign_id}, j.dedup_key, j.player_id, ${channel}, j.template_id,
      j.variant_id, ${provider_id}, j.recipient,
      ${statusSql(tx, 'queued')}, j.verdict, ${assignedSql(tx, gate)}, j.context, ${gate.now}
    from (
      select p.tenant_id, p.project_id, p.player_id, f.dedup_key, f.template_id, f.variant_id, f.is_service,
        f.context::jsonb as context,
        ${recipient.address} as recipient, coalesce(${verdictSql(tx, gate, recipient, tx`f.bonus_product`)}, f.holdout) as verdict
      from ${rowsOf(tx, 'f', firings, {
        player_id: 'uuid',
        dedup_key: 'text',
        variant_id: ['uuid', ({ variant }) => variant.variant_id],
        template_id: ['uuid', ({ variant }) => variant.template_id],
        context: ['text', ({ properties }) => exactJson(properties)],
        bonus_product: ['text', ({ variant }) => variant.bonus_product],
        holdout: ['text', ({ player_id, variant }) => holdoutOf(player_id, variant)],
        is_service: ['boolean', ({ variant }) => variant.is_service],
      })}
      cross join lateral (
        select * from players p
        where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.player_id = f.player_id offset 0) p
      where p.deleted_at is null
      offset 0
    ) j
    on conflict (tenant_id, project_id, campaign_id, player_id, dedup_key) do nothing
    returning error_code`;
  return madeRowsOf(made);
}
