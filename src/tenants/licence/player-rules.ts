import type { MessageFacts, PlayerFacts, TierFacts, Fault } from './facts.ts';
import type { LicenceRule, RuleParams } from './rule.ts';

const DAY_MS = 86_400_000;

/** What a player breaks of a rule; `message`: where the rule is about one. Undefined for rules about something else. */
export function playerFault(
  rule: LicenceRule,
  player: PlayerFacts,
  now: Date,
  message?: MessageFacts,
): Fault {
  switch (rule.kind) {
    case 'no_bonus_when':
    case 'no_new_bonus_when':
      return momentFault(rule.params, player, now);
    case 'min_age':
      return ageFault(rule.params, player, now);
    case 'min_account_age_days': {
      if (player.first_seen_at === null) return { missing: 'first_seen_at' };
      const days = Math.floor((now.getTime() - player.first_seen_at.getTime()) / DAY_MS);
      return days < rule.params.days ? `the account is ${days} days old` : undefined;
    }
    case 'verified':
      if (player.kyc_status === null) return { missing: 'kyc_status' };
      return player.kyc_status === 'approved' ? undefined : `kyc_status is ${player.kyc_status}`;
    case 'first_bonus_only':
      if (player.bonuses_before === null) return { missing: 'bonuses_before' };
      return player.bonuses_before > 0 ? `the player had ${player.bonuses_before}` : undefined;
    case 'consent':
      return message === undefined ? undefined : consentFault(rule.params, message);
    case 'max_wagering_multiple':
    case 'max_bonus_value':
    case 'single_product':
    case 'contribution_all_100':
    case 'no_wagering_on_winnings':
    case 'deposit_equals_bonus_100pct':
    case 'min_days_to_fulfil':
    case 'same_terms':
    case 'no_loss_based':
    case 'no_public_advertising':
    case 'vip_checks':
    case 'conduct':
      return undefined;
  }
}

/** What a promotion breaks of a rule about tiers. */
export function tierFault(rule: LicenceRule, { approval }: TierFacts): Fault {
  if (rule.kind !== 'vip_checks') return undefined;
  const missing = rule.params.checks.find((check) => (approval?.[check] ?? null) === null);
  return missing === undefined
    ? undefined
    : { missing: `approval.${missing}`, message: `approval.${missing} is not on record` };
}

function momentFault(when: RuleParams['no_bonus_when'], player: PlayerFacts, now: Date): Fault {
  const status = when.statuses?.find((one) => player.statuses.includes(one));
  if (status !== undefined) return `the player is in status ${status}`;
  const { rg_risk, has_pending_withdrawal, limit_raised_at } = player;
  if (when.risk?.some((level) => level === rg_risk)) return `rg_risk is ${rg_risk}`;
  if (when.pending_withdrawal === true && has_pending_withdrawal === true) return 'a withdrawal is pending';
  if (when.limit_raised_days !== undefined && limit_raised_at instanceof Date) {
    const days = Math.floor((now.getTime() - limit_raised_at.getTime()) / DAY_MS);
    if (days < when.limit_raised_days) return `a deposit limit was raised ${days} days ago`;
  }
  // What is not known counts only where nothing that is known breaks the rule.
  if (when.risk !== undefined && rg_risk === null) return { missing: 'rg_risk' };
  if (when.pending_withdrawal === true && has_pending_withdrawal === null)
    return { missing: 'pending_withdrawal' };
  if (when.limit_raised_days !== undefined && limit_raised_at === null) return { missing: 'limit_raised_at' };
  return undefined;
}

const DATE = /^(?:19|2\d)\d{2}-\d{2}-\d{2}(?=T|$)/;

function ageFault({ years }: RuleParams['min_age'], { birth_date }: PlayerFacts, now: Date): Fault {
  if (birth_date === null) return { missing: 'birth_date' };
  const born = dateOf(birth_date);
  // Somebody has said when the player was born: it is not unknown, and must not pass as what is unknown does.
  if (born === undefined) return 'birth_date is not a date of the form YYYY-MM-DD';
  const birthday = `${String(Number(born.slice(0, 4)) + years).padStart(4, '0')}${born.slice(4)}`;
  // As text: a player born on 29 February is of age on 1 March.
  return birthday > now.toISOString().slice(0, 10) ? `the player is younger than ${years}` : undefined;
}

/** The date of a text that is a date, or an ISO-8601 time; undefined for days that do not exist, and before 1900. */
function dateOf(text: string): string | undefined {
  const [date] = DATE.exec(text) ?? [];
  if (date === undefined) return undefined;
  const day = new Date(`${date}T00:00:00Z`);
  const is_real = !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date);
  const is_time = text === date || !Number.isNaN(Date.parse(text));
  return is_real && is_time ? date : undefined;
}

function consentFault(
  { per_product, per_channel }: RuleParams['consent'],
  { channel, product, player }: MessageFacts,
): Fault {
  if (!per_channel.includes(channel)) return undefined;
  const asked = product === 'any' ? per_product : per_product.filter((one) => one === product);
  const keys = per_product.length === 0 ? [channel] : asked.map((one) => `${channel}.${one}`);
  const refused = keys.find((key) => player.consent[key] === false);
  if (refused !== undefined) return `consent.${refused} is false`;
  const missing = keys.find((key) => player.consent[key] === undefined);
  return missing === undefined ? undefined : { missing: `consent.${missing}` };
}
