import { wireAmount } from '../templates/config.ts';
import { parseTerms, termsJson, type BonusTerms } from '../templates/terms.ts';
import type { ExactRate } from '../../ledger/money/conversion.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { NO_FACTS, type Facts, type GrantOutcome, type GrantState, type GrantStatus } from './transition.ts';
import { JsonText, exactJson } from '../../platform/exact-json.ts';

/** Who granted a bonus (spec part 2). */
export const GRANTED_BY_KINDS = ['manual', 'api', 'journey', 'campaign', 'auto'] as const;
export type GrantedByKind = (typeof GRANTED_BY_KINDS)[number];

/** The reason of grants that end because their player is protected. */
export const PLAYER_EXCLUDED = 'PLAYER_EXCLUDED';

/** The reasons of grants that end because the player may not have them any more, though no status protects the player. */
const RECHECK_REASONS: ReadonlySet<string> = new Set([
  'AT_RISK',
  'KYC_LEVEL',
  'NOT_IN_SEGMENT',
  'LICENCE_RULE',
]);

/** The `status_reason` of a grant that may not be sent, by the reason of the look at its player. */
export function endReasonOf(reason: string): string {
  return isRecheckReason(reason) ? reason : PLAYER_EXCLUDED;
}

/** Whether a grant of this `status_reason` did not pass the checks again when it was to be sent. */
export function isRecheckReason(reason: string | null): boolean {
  return reason !== null && RECHECK_REASONS.has(reason);
}

/** The key of a grant. */
export interface GrantRef extends ProjectRef {
  grant_id: string;
}

/** A rate as a grant shows it: 1 whole unit of one currency = `rate` whole units of another, at the time `ts`. */
export interface FrozenRate {
  rate: string;
  ts: string;
}

/** The last failure of a call to the platform. */
export interface LastError {
  code: string;
  message: string;
  at: string;
}

/** A grant as its row has it. Amounts are digit strings in the smallest unit of `currency`, as the driver reads numeric. */
export interface GrantRow extends GrantRef {
  template_id: string;
  template_version: number;
  player_id: string;
  campaign_id: string | null;
  granted_by_kind: GrantedByKind;
  granted_by_id: string | null;
  granted_by_user: string | null;
  terms: unknown;
  exclusion_group: string | null;
  slot: number;
  status: GrantStatus;
  outcome: GrantOutcome;
  /** Before the attempt that is being made, one was made whose outcome is not known. */
  may_be_sent: boolean;
  needs_review: boolean;
  adapter_slug: string;
  player_external_id: string;
  order_body: string;
  currency: string;
  deposit_amount: string | null;
  /** The deposit for which it was granted, by its transaction_id; null: none, or it is not known. */
  deposit_transaction_id: string | null;
  /** When it was found that this deposit is reversed to 0; null: it was not. */
  deposit_reversed_at: Date | null;
  bonus_amount: string;
  /** In the smallest unit of the tenant's base currency. */
  bonus_amount_base: bigint;
  fx: FrozenRate | null;
  /** From the grant's currency to the base currency; null: they are the same. */
  base_fx: (FrozenRate & ExactRate) | null;
  wagering_required: string;
  wagering_progress: string;
  progress_source: 'none' | 'events' | 'platform';
  max_bet: string | null;
  max_win_cap: string | null;
  max_bet_breaches: number;
  released_amount: string | null;
  released_amount_base: bigint | null;
  facts: Readonly<Record<string, unknown>>;
  status_reason: string | null;
  last_error: LastError | null;
  attempts: number;
  calls: number;
  /** When the first call began; null: there was none. */
  first_called_at: Date | null;
  next_attempt_at: Date | null;
  /**
   * For a campaign's grant that is not sent: it waits for a share of the campaign's rate, at `next_attempt_at`, or from this
   * moment on when its platform takes calls again. Null: it has its share, or needs none.
   */
  retry_early_at: Date | null;
  cancel_requested_at: Date | null;
  cancel_reason: string | null;
  is_protection_seen: boolean;
  created_at: Date;
  activated_at: Date | null;
  expires_at: Date | null;
  completed_at: Date | null;
  ended_at: Date | null;
  updated_at: Date;
  seq: number;
}

/** Where a grant's history comes from. */
export const EVENT_SOURCES = ['api', 'adapter', 'webhook', 'reconciliation', 'clock'] as const;
export type EventSource = (typeof EVENT_SOURCES)[number];

/** An event in the history of a grant. */
export interface HistoryRow {
  seq: number;
  event: string;
  source: EventSource;
  event_id: string | null;
  from_status: GrantStatus | null;
  to_status: GrantStatus;
  occurred_at: Date;
  received_at: Date;
  data: Record<string, unknown>;
}

const AMOUNT_FACTS = [
  'amount',
  'winnings',
  'total_wagered',
  'wagering_required',
  'required_at_total',
  'released_amount',
] as const satisfies readonly (keyof Facts)[];

/** The facts in a row. */
export function factsOf({ facts }: Pick<GrantRow, 'facts'>): Facts {
  const amounts = AMOUNT_FACTS.filter((name) => typeof facts[name] === 'string');
  return {
    ...NO_FACTS,
    ...(facts as Partial<Facts>),
    ...Object.fromEntries(amounts.map((name) => [name, BigInt(facts[name] as string)])),
  };
}

/** The facts as a row keeps them: only those that are known, amounts as digit strings. */
export function factsJson(facts: Facts): Record<string, unknown> {
  const known = Object.entries(facts).filter(([, value]) => value !== null);
  return Object.fromEntries(
    known.map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : (value as unknown)]),
  );
}

/** The state of a grant that events change. */
export function stateOf(row: GrantRow): GrantState {
  const { status, outcome, needs_review } = row;
  return { status, outcome, needs_review, facts: factsOf(row) };
}

/** The frozen rate to the base currency. */
export function baseRateOf({ base_fx }: Pick<GrantRow, 'base_fx'>): ExactRate | 'same' {
  return base_fx ?? 'same';
}

/** Terms that were read already; the rows of a grant in the course of its request have the same. */
const known_terms = new WeakMap<object, BonusTerms>();

/** The terms as the row of a new grant keeps them: {@link termsOfGrant} need not parse them again. */
export function frozenTerms(terms: BonusTerms): Record<string, unknown> {
  const json = termsJson(terms);
  known_terms.set(json, terms);
  return json;
}

/** The frozen terms. Throws BONUS_CONFIG_INVALID for terms that this version cannot read. */
export function termsOfGrant({ terms }: Pick<GrantRow, 'terms'>): BonusTerms {
  if (typeof terms !== 'object' || terms === null) return parseTerms(terms);
  const known = known_terms.get(terms) ?? parseTerms(terms);
  known_terms.set(terms, known);
  return known;
}

const amount = (digits: string | null) => (digits === null ? null : wireAmount(BigInt(digits)));

/** The grant resource (spec part 2) as the audit log has it: with the digits of the rate as a text. */
export function grantJson(row: GrantRow) {
  const { wagering } = termsOfGrant(row);
  return {
    id: row.grant_id,
    tenant_id: row.tenant_id,
    project_id: row.project_id,
    template_id: row.template_id,
    template_version: row.template_version,
    player_id: row.player_id,
    player_external_id: row.player_external_id,
    campaign_id: row.campaign_id,
    granted_by_kind: row.granted_by_kind,
    granted_by_id: row.granted_by_id,
    granted_by_user: row.granted_by_user,
    status: row.status,
    outcome: row.outcome,
    adapter_slug: row.adapter_slug,
    platform_bonus_id: factsOf(row).platform_bonus_id,
    currency: row.currency,
    deposit_amount: amount(row.deposit_amount),
    deposit_transaction_id: row.deposit_transaction_id,
    deposit_reversed_at: row.deposit_reversed_at,
    bonus_amount: amount(row.bonus_amount),
    bonus_amount_base: wireAmount(row.bonus_amount_base),
    fx: row.fx,
    wagering_multiplier: wagering.multiplier_hundredths / 100,
    wagering_basis: wagering.basis,
    wagering_required: amount(row.wagering_required),
    wagering_progress: amount(row.wagering_progress),
    progress_source: row.progress_source,
    max_bet: amount(row.max_bet),
    max_win_cap: amount(row.max_win_cap),
    max_bet_breaches: row.max_bet_breaches,
    released_amount: amount(row.released_amount),
    released_amount_base: row.released_amount_base === null ? null : wireAmount(row.released_amount_base),
    status_reason: row.status_reason,
    needs_review: row.needs_review,
    last_error: row.last_error,
    attempts: row.attempts,
    next_attempt_at: row.next_attempt_at,
    cancel_requested_at: row.cancel_requested_at,
    created_at: row.created_at,
    activated_at: row.activated_at,
    expires_at: row.expires_at,
    completed_at: row.completed_at,
    ended_at: row.ended_at,
    updated_at: row.updated_at,
  };
}

/**
 * The grant resource as JSON text, with its history if that is given. The rate is a number with all its digits: a double
 * would lose some.
 */
export function grantText(row: GrantRow, history?: readonly HistoryRow[]): string {
  const { fx, ...rest } = { ...grantJson(row), history };
  const shown = fx === null ? null : { rate: new JsonText(fx.rate), ts: fx.ts };
  return exactJson({ fx: shown, ...rest });
}
