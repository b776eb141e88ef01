import { ApiError } from '../../errors.ts';
import { newId } from '../../platform/ids.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import { bonusSettingsOf } from '../../tenants/config/read.ts';
import type { TenantConfig } from '../../tenants/config/schema.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { BonusPlatform } from '../../adapters/platform.ts';
import type { BonusTemplateRow, LicenceWarning } from '../templates/queries.ts';
import type { NewHistory } from './apply-queries.ts';
import type { CountedFor, GrantCounts, GrantPlayer, NewGrant } from './issue-queries.ts';
import { grantOrderBody } from './order.ts';
import type { CreateGrantBody } from './schema.ts';
import type { Worth } from './worth.ts';
import { frozenTerms, type GrantRow } from './grant-row.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/**
 * How long a call may take, with the questions before it: the longest time-out of an adapter for each of three calls. A
 * call of a process that has died is made again after this.
 */
export const CALL_MS = 150_000;

/** A grant to store. `grant_id` absent: a new one. */
export interface GrantRequest extends CreateGrantBody {
  grant_id?: string;
  /** The user of the session; null: the service itself. */
  granted_by_user: string | null;
}

/** 409 BONUS_BUDGET_EXCEEDED. */
export function budgetExceeded(
  { budget_base }: BonusTemplateRow,
  { bonus_amount_base }: Pick<Worth, 'bonus_amount_base'>,
): ApiError {
  const message = `the bonus costs ${bonus_amount_base} in the base currency, more than is left of the template's budget of ${budget_base}`;
  return new ApiError('BONUS_BUDGET_EXCEEDED', message, {
    details: { cost_base: String(bonus_amount_base) },
  });
}

/** Rejects with BONUS_PAUSED when the tenant's bonuses are paused. */
export function requireRunning(config: TenantConfig): void {
  if (bonusSettingsOf(config).paused) {
    throw new ApiError('BONUS_PAUSED', 'bonuses are paused: config.bonuses.paused of the tenant is true');
  }
}

/** Throws BONUS_TEMPLATE_NOT_ACTIVE for a paused template. */
export function requireActive({ template_id, status }: BonusTemplateRow): void {
  if (status === 'active') return;
  const message = `bonus template ${template_id} is paused: set its status to active to grant from it`;
  throw new ApiError('BONUS_TEMPLATE_NOT_ACTIVE', message);
}

/** What is counted before a grant of the template to the player. */
export function countedFor(
  { tenant_id, project_id, player_id }: PlayerRef,
  { template_id, exclusion_group, grant_window_days }: BonusTemplateRow,
  now: Date,
): CountedFor {
  const ago = (days: number) => new Date(now.getTime() - days * DAY_MS);
  const window_from = grant_window_days === null ? null : ago(grant_window_days);
  return { tenant_id, project_id, player_id, template_id, exclusion_group, window_from, day_from: ago(1) };
}

/** The player has never been granted anything. */
export const NO_GRANTS: GrantCounts = {
  of_template: 0,
  free_slot: 1,
  has_live: false,
  in_group: false,
  of_day: 0,
  ever: 0,
};

/** Throws BONUS_GRANT_LIMIT_REACHED when the player has no place for a grant of the template. */
export function requirePlace(template: BonusTemplateRow, counts: GrantCounts): void {
  const { max_grants_per_player: max, exclusion_group, grant_window_days } = template;
  if (max !== null && counts.of_template >= max) {
    const window = grant_window_days === null ? '' : ` in ${grant_window_days} days`;
    const message = `the player has ${counts.of_template} grants of the template${window}; ${max} are allowed`;
    throw new ApiError('BONUS_GRANT_LIMIT_REACHED', message, {
      details: { reason: 'max_grants_per_player' },
    });
  }
  if (exclusion_group !== null && counts.in_group) {
    const message = `the player has a live bonus of the exclusion group ${exclusion_group}: wait until it has ended`;
    throw new ApiError('BONUS_GRANT_LIMIT_REACHED', message, { details: { reason: 'exclusion_group' } });
  }
}

/** What an intent is made of. */
export interface IntentInput {
  project: ProjectRef;
  request: Pick<
    GrantRequest,
    'grant_id' | 'granted_by_kind' | 'granted_by_id' | 'granted_by_user' | 'deposit_transaction_id'
  >;
  template: BonusTemplateRow;
  player: GrantPlayer;
  worth: Worth;
  counts: GrantCounts;
  platform: Pick<BonusPlatform, 'slug'>;
  now: Date;
  /** The caller calls the platform itself, right after the commit; otherwise the sender does. */
  is_attempted: boolean;
}

/** The row of a new grant: pending, and not sent. */
export function newGrantOf(input: IntentInput): NewGrant {
  const { project, request, template, player, worth, counts, platform, now, is_attempted } = input;
  const { tenant_id, project_id } = project;
  const grant_id = request.grant_id ?? newId();
  const { terms, amounts } = worth;
  const player_external_id = player.external_id ?? player.player_id;
  const { granted_by_kind, granted_by_id } = request;
  const hours = terms.time_limit_hours;
  const expires_at = hours === null ? null : new Date(now.getTime() + hours * HOUR_MS);
  const digits = (amount: bigint | null) => (amount === null ? null : String(amount));
  return {
    tenant_id,
    project_id,
    grant_id,
    template_id: template.template_id,
    template_version: template.version,
    player_id: player.player_id,
    campaign_id: granted_by_kind === 'campaign' ? granted_by_id : null,
    granted_by_kind,
    granted_by_id,
    granted_by_user: request.granted_by_user,
    terms: frozenTerms(terms),
    exclusion_group: template.exclusion_group,
    slot: counts.free_slot,
    status: 'pending',
    outcome: is_attempted ? 'sent' : 'unsent',
    adapter_slug: platform.slug,
    player_external_id,
    order_body: grantOrderBody({
      grant_id,
      tenant_id,
      player_id: player.player_id,
      player_external_id,
      terms,
      amounts,
      multiplier: terms.wagering.multiplier_hundredths / 100,
      expires_at,
      granted_by_kind,
      granted_by_id,
    }),
    currency: amounts.currency,
    deposit_amount: digits(amounts.deposit_amount),
    deposit_transaction_id: request.deposit_transaction_id,
    bonus_amount: String(amounts.bonus_amount),
    bonus_amount_base: worth.bonus_amount_base,
    fx: worth.fx,
    base_fx: worth.base_fx,
    wagering_required: String(amounts.wagering_required),
    max_bet: digits(amounts.max_bet),
    max_win_cap: digits(amounts.max_win_cap),
    attempts: is_attempted ? 1 : 0,
    calls: is_attempted ? 1 : 0,
    first_called_at: is_attempted ? now : null,
    next_attempt_at: is_attempted ? new Date(now.getTime() + CALL_MS) : now,
    created_at: now,
    expires_at,
    seq: 1,
  };
}

/** The first event of a grant; `warnings`: the licence rules that it breaks, but that only warn. */
export function requestedOf(row: NewGrant, warnings: readonly LicenceWarning[]): NewHistory {
  const { tenant_id, project_id, grant_id, granted_by_kind, granted_by_id, created_at } = row;
  return {
    tenant_id,
    project_id,
    grant_id,
    seq: 1,
    event: 'bonus.requested',
    source: 'api',
    event_id: null,
    from_status: null,
    to_status: 'pending',
    occurred_at: created_at,
    received_at: created_at,
    data: { granted_by_kind, granted_by_id, ...(warnings.length > 0 ? { licence_warnings: warnings } : {}) },
    log: null,
  };
}

/** 503 ADAPTER_UNAVAILABLE for a grant that is queued. */
export function unavailable({ grant_id, next_attempt_at }: GrantRow, message: string): ApiError {
  return new ApiError('ADAPTER_UNAVAILABLE', message, {
    details: { grant_id, next_attempt_at },
    retry_after_s: 1,
  });
}
