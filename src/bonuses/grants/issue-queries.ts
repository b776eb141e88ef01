import type { PendingQuery, Row } from 'postgres';
import { hasPendingWithdrawal } from '../../ledger/withdrawals/queries.ts';
import { limitRaisedAt } from '../../protection/limits/limit-queries.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import type { GrantRow } from './grant-row.ts';

/** What the checks of a grant read about its player. */
export interface GrantPlayer {
  player_id: string;
  external_id: string | null;
  deleted_at: Date | null;
  is_self_excluded: boolean;
  is_banned: boolean;
  cooldown_until: Date | null;
  /** An approval that has ended is `expired`, also while that is not written yet. */
  kyc_status: string;
  kyc_level: number;
  rg_risk: string | null;
  birth_date: string | null;
  first_seen_at: Date | null;
  /** A withdrawal is requested, and neither confirmed nor failed; null: not known. */
  has_pending_withdrawal: boolean | null;
  /** When a deposit limit was raised last; null: never. */
  limit_raised_at: Date | null;
}

/** The columns of {@link GrantPlayer}, of the table `p`. */
export function grantPlayerColumns(tx: Tx): PendingQuery<Row[]> {
  return tx`p.player_id, p.external_id, p.deleted_at, p.self_excluded or p.status = 'self_excluded' as is_self_excluded,
    p.status = 'banned' as is_banned, p.cooldown_until, p.kyc_level,
    case when p.kyc_status = 'approved' and p.kyc_expires_at <= now() then 'expired' else p.kyc_status end as kyc_status,
    p.custom_attributes ->> 'rg_risk' as rg_risk, p.custom_attributes ->> 'birth_date' as birth_date,
    (select t.first_seen_at from player_totals t
      where t.player_id = p.player_id and t.tenant_id = p.tenant_id and t.project_id = p.project_id) as first_seen_at,
    ${hasPendingWithdrawal(tx)} as has_pending_withdrawal, ${limitRaisedAt(tx)} as limit_raised_at`;
}

/** What the player has been granted. */
export interface GrantCounts {
  /** Grants since the beginning of the template's window that count for its limit. */
  of_template: number;
  /** The lowest place that none of the template's grants has. */
  free_slot: number;
  /** Whether a grant of the template is live. */
  has_live: boolean;
  /** Whether a live grant belongs to the exclusion group. */
  in_group: boolean;
  /** Of any template, in the last 24 hours. */
  of_day: number;
  /** Of any template, ever, with those that were credited and cancelled. */
  ever: number;
}

/** What is counted. */
export interface CountedFor extends PlayerRef {
  template_id: string;
  exclusion_group: string | null;
  /** Null: ever. */
  window_from: Date | null;
  day_from: Date;
}

/**
 * The condition on grants of the table `name` that a player has had: a bonus that was credited is one for ever, also when
 * it was cancelled later.
 */
export function isCountedEver(tx: Tx, name: string): PendingQuery<Row[]> {
  return tx`(${tx(name)}.status not in ('cancelled', 'failed') or ${tx(name)}.activated_at is not null)`;
}

/** Counts players' grants, in the order of the questions; call it while `lockGrantPlayers` holds them. */
export async function countGrants(tx: Tx, asked: readonly CountedFor[]): Promise<GrantCounts[]> {
  const isOfPlayer = tx`g.player_id = r.player_id and g.tenant_id = r.tenant_id and g.project_id = r.project_id`;
  const counted = tx`g.status not in ('cancelled', 'failed')`;
  const isOfTemplate = tx`g.template_id = r.template_id and ${counted}`;
  const isLive = tx`g.status in ('pending', 'active')`;
  const rows = asked.map((one, place) => ({ ...one, place }));
  return tx<GrantCounts[]>`
    select k.of_template, k.free_slot, k.has_live, k.in_group, k.of_day, k.ever
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as r (tenant_id uuid, project_id uuid,
      player_id uuid, template_id uuid, exclusion_group text, window_from timestamptz, day_from timestamptz,
      place integer)
    cross join lateral (
      select own.*, coalesce((select min(s)::integer from generate_series(1, cardinality(own.slots) + 1) s
        where s not in (select unnest(own.slots))), 1) as free_slot
      from (
        select count(*) filter (where ${isOfTemplate} and g.created_at > coalesce(r.window_from, '-infinity'))::integer
            as of_template,
          array_agg(g.slot) filter (where ${isOfTemplate}) as slots,
          coalesce(bool_or(g.template_id = r.template_id and ${isLive}), false) as has_live,
          coalesce(bool_or(g.exclusion_group = r.exclusion_group and ${isLive}), false) as in_group,
          count(*) filter (where g.created_at > r.day_from and ${counted})::integer as of_day,
          count(*) filter (where ${isCountedEver(tx, 'g')})::integer as ever
        -- Found by the player alone: by the template, Postgres might read all that was ever granted from it.
        from (select * from bonus_grants g where ${isOfPlayer} offset 0) g) own
      offset 0) k
    order by r.place`;
}

/** The base currency of a tenant, and the scales of currencies that its catalogue has. */
export async function selectScales(
  tx: Tx,
  tenant_id: string,
  codes: readonly string[],
): Promise<{ base_currency: string; scales: ReadonlyMap<string, number> }> {
  const rows = await tx<{ base_currency: string; code: string; scale: number }[]>`
    select t.base_currency, c.code, c.scale from tenants t
    join currencies c on c.tenant_id = t.tenant_id
    where t.tenant_id = ${tenant_id} and (c.code = t.base_currency or c.code in ${tx(codes)})`;
  return {
    base_currency: rows[0]?.base_currency ?? '',
    scales: new Map(rows.map(({ code, scale }) => [code, scale])),
  };
}

/** The columns of a grant that its row begins with by default. */
const DEFAULTS = {
  needs_review: false,
  may_be_sent: false,
  wagering_progress: '0',
  progress_source: 'none',
  max_bet_breaches: 0,
  released_amount: null,
  released_amount_base: null,
  facts: {},
  status_reason: null,
  last_error: null,
  retry_early_at: null,
  cancel_requested_at: null,
  cancel_reason: null,
  is_protection_seen: false,
  deposit_reversed_at: null,
  activated_at: null,
  completed_at: null,
  ended_at: null,
} as const satisfies Partial<GrantRow>;

/** The columns of a new grant; all others have their defaults. */
export type NewGrant = Omit<GrantRow, keyof typeof DEFAULTS | 'updated_at'>;

/** The row of a grant that was just inserted. */
export function insertedRow(grant: NewGrant): GrantRow {
  return { ...grant, ...DEFAULTS, updated_at: grant.created_at };
}

const jsonText = (rows: unknown) =>
  JSON.stringify(rows, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));

/** Adds grants. Rejects with a unique violation when a place or an exclusion group is taken. */
export async function insertGrants(tx: Tx, rows: readonly NewGrant[]): Promise<void> {
  if (rows.length === 0) return;
  await tx`
    insert into bonus_grants (tenant_id, project_id, grant_id, template_id, template_version, player_id, campaign_id,
      granted_by_kind, granted_by_id, granted_by_user, terms, exclusion_group, slot, status, outcome, adapter_slug,
      player_external_id, order_body, currency, deposit_amount, deposit_transaction_id, bonus_amount, bonus_amount_base, fx,
      base_fx, wagering_required, max_bet, max_win_cap, attempts, calls, first_called_at, next_attempt_at,
      created_at, expires_at, updated_at, seq)
    select r.tenant_id, r.project_id, r.grant_id, r.template_id, r.template_version, r.player_id, r.campaign_id,
      r.granted_by_kind, r.granted_by_id, r.granted_by_user, r.terms, r.exclusion_group, r.slot, r.status, r.outcome,
      r.adapter_slug, r.player_external_id, r.order_body, r.currency, r.deposit_amount, r.deposit_transaction_id, r.bonus_amount,
      r.bonus_amount_base, r.fx, r.base_fx, r.wagering_required, r.max_bet, r.max_win_cap, r.attempts, r.calls,
      r.first_called_at, r.next_attempt_at, r.created_at, r.expires_at, r.created_at, r.seq
    from jsonb_to_recordset(${jsonText(rows)}::text::jsonb) as r (tenant_id uuid, project_id uuid, grant_id uuid,
      template_id uuid, template_version integer, player_id uuid, campaign_id uuid, granted_by_kind text,
      granted_by_id uuid, granted_by_user text, terms jsonb, exclusion_group text, slot integer, status text,
      outcome text, adapter_slug text, player_external_id text, order_body text, currency text, deposit_amount numeric,
      deposit_transaction_id text,
      bonus_amount numeric, bonus_amount_base bigint, fx jsonb, base_fx jsonb, wagering_required numeric,
      max_bet numeric, max_win_cap numeric, attempts integer, calls integer,
      first_called_at timestamptz, next_attempt_at timestamptz,
      created_at timestamptz, expires_at timestamptz, seq integer)`;
}
