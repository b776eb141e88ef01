import type { CampaignFacts, GrantFacts, TermsFacts, Fault } from './facts.ts';
import type { LicenceRule, RuleProduct } from './rule.ts';

/** What is known of the bonus: always its terms, and more where it is granted or advertised. */
type Known = { terms: TermsFacts } & Partial<Omit<GrantFacts & CampaignFacts, 'terms'>>;

/** What a bonus breaks of a rule about terms, amounts and campaigns; undefined for rules about something else. */
export function termsFault(rule: LicenceRule, known: Known): Fault {
  const { terms } = known;
  switch (rule.kind) {
    case 'max_wagering_multiple':
      return wageringFault(rule.params, known);
    case 'max_bonus_value':
      return valueFault(rule.params, terms);
    case 'single_product':
      return productFault(known);
    case 'contribution_all_100': {
      const least = Math.min(...terms.contributions);
      return least < 100 ? `a kind of game counts ${least} %` : undefined;
    }
    case 'no_wagering_on_winnings':
      return terms.wagering.basis === 'winnings' && terms.wagering.multiplier_hundredths > 0
        ? 'wagering_basis is winnings'
        : undefined;
    case 'deposit_equals_bonus_100pct':
      return terms.match_percent !== null && terms.match_percent !== 100
        ? `match_percent is ${terms.match_percent}`
        : undefined;
    case 'min_days_to_fulfil': {
      const hours = terms.time_limit_hours;
      return hours !== null && hours < rule.params.days * 24
        ? `time_limit_hours ${hours} is less than ${rule.params.days * 24}`
        : undefined;
    }
    case 'same_terms':
      return known.is_amount_changed === true ? 'amount_override gives this player less' : undefined;
    case 'no_loss_based':
      return terms.type === 'cashback' ? 'a bonus of type cashback does' : undefined;
    case 'no_public_advertising':
      return known.advertising === 'public' ? 'the campaign is public' : undefined;
    case 'no_bonus_when':
    case 'no_new_bonus_when':
    case 'min_age':
    case 'min_account_age_days':
    case 'verified':
    case 'first_bonus_only':
    case 'consent':
    case 'vip_checks':
    case 'conduct':
      return undefined;
  }
}

/** The amounts that wagering is compared by, in any unit. */
interface Amounts {
  bonus: bigint;
  deposit: bigint;
}

function wageringFault(
  { multiple, base }: { multiple: number; base: 'bonus' | 'bonus_plus_deposit' },
  { terms, bonus_amount, deposit_amount, wagering_required }: Known,
): Fault {
  const { multiplier_hundredths, basis } = terms.wagering;
  const limit = BigInt(Math.round(multiple * 100));
  const times = (hundredths: bigint) => `${Number(hundredths) / 100}`;
  // Winnings are not known yet: they are the bonus funds then, and the multiplier is what counts.
  if (basis === 'winnings') {
    return BigInt(multiplier_hundredths) > limit
      ? `the multiplier ${times(BigInt(multiplier_hundredths))} is above ${multiple}`
      : undefined;
  }
  const { bonus, deposit } =
    bonus_amount === undefined
      ? amountsBelowTheCap(terms)
      : // A deposit that a gift does not follow from is not part of its terms, even if the caller names one.
        { bonus: bonus_amount, deposit: terms.match_percent === null ? 0n : (deposit_amount ?? 0n) };
  const required =
    wagering_required === undefined
      ? BigInt(multiplier_hundredths) * { bonus, bonus_plus_deposit: bonus + deposit, deposit }[basis]
      : wagering_required * 100n;
  const measure = base === 'bonus' ? bonus : bonus + deposit;
  if (required <= limit * measure) return undefined;
  const rounded = times((required + measure - 1n) / measure);
  const of = base === 'bonus' ? 'the bonus' : 'bonus and deposit';
  return `what has to be wagered is ${rounded} times ${of}, more than ${multiple}`;
}

/** A bonus and its deposit in the ratio that they have as long as the bonus is below its cap. */
function amountsBelowTheCap({ match_percent }: TermsFacts): Amounts {
  if (match_percent === null) return { bonus: 1n, deposit: 0n };
  return { bonus: BigInt(Math.round(match_percent * 100)), deposit: 10_000n };
}

function valueFault({ amount, currency }: { amount: number; currency: string }, terms: TermsFacts): Fault {
  const value = terms.value_in[currency];
  if (value === undefined) {
    const message = `what the bonus is worth in ${currency} is not known: give the tenant a rate to ${currency}`;
    return { missing: `fx.${currency}`, message };
  }
  // The limit has at most two decimals.
  const isAbove = value.amount * 100n > BigInt(Math.round(amount * 100)) * 10n ** BigInt(value.scale);
  return isAbove
    ? `the bonus is worth up to ${decimal(value.amount, value.scale)} ${currency}, more than ${amount}`
    : undefined;
}

function decimal(amount: bigint, scale: number): string {
  const text = String(amount).padStart(scale + 1, '0');
  return scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`;
}

/** What bonuses of these types are played on, regardless of the template. */
const PLAYED_ON: Partial<Record<TermsFacts['type'], RuleProduct>> = {
  free_spins: 'casino',
  free_bet: 'betting',
};

function productFault({ terms, qualifying_product }: Known): Fault {
  const { type, product, contributions } = terms;
  const played = PLAYED_ON[type];
  if (played !== undefined && product !== played) {
    return `a bonus of type ${type} is played on ${played}, but product is ${product}`;
  }
  if (product === 'any' && contributions.some((percent) => percent !== contributions[0])) {
    return 'product is any, but game_contribution leaves no free choice: name the product';
  }
  const earned = qualifying_product ?? null;
  return earned !== null && earned !== product && product !== 'any'
    ? `it is given for ${earned} and played on ${product}`
    : undefined;
}
