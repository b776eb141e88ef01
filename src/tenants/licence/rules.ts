import type { Evidence, LicenceRule, RuleKind, RuleParams, RulePoint, RuleSeverity } from './rule.ts';

/** The date on which the sources were read, unless a rule says otherwise. */
const CHECKED_ON = '2026-11-22';

type Jurisdiction = LicenceRule['jurisdiction'];

interface Declared<Kind extends RuleKind> {
  kind: Kind;
  params: RuleParams[Kind];
  at: readonly RulePoint[];
  summary: string;
  from?: string;
  severity?: RuleSeverity;
  source: string;
  url: string | null;
  evidence?: Evidence;
}

/** A rule; without a severity it is enforced, and without evidence its source is the text or the regulator. */
function rule<Kind extends RuleKind>(
  jurisdiction: Jurisdiction,
  name: string,
  { at, from, severity, source, url, evidence, ...declared }: Declared<Kind>,
): LicenceRule {
  return {
    id: `${jurisdiction}_${name}`,
    jurisdiction,
    ...declared,
    applies_to: at,
    effective_from: from ?? null,
    effective_to: null,
    severity: severity ?? 'enforce',
    source,
    source_url: url,
    evidence: evidence ?? 'primary',
    checked_on: CHECKED_ON,
  } as LicenceRule;
}

const NONE = {} as const;
const SR_511 = 'https://www.gamblingcommission.gov.uk/licensees-and-businesses/lccp/condition/5-1-1-sr-code';

const UKGC: readonly LicenceRule[] = [
  rule('ukgc', 'max_wagering', {
    kind: 'max_wagering_multiple',
    params: { multiple: 10, base: 'bonus' },
    at: ['template', 'grant'],
    summary:
      'Bonus funds are wagered at most 10 times; wagering of own deposits before a bonus is outside it',
    from: '2026-01-19',
    source: 'LCCP SR code 5.1.1(3a)',
    url: SR_511,
  }),
  rule('ukgc', 'single_product', {
    kind: 'single_product',
    params: { products: ['betting', 'casino', 'bingo', 'lottery'] },
    at: ['template', 'campaign', 'grant'],
    summary: 'What a bonus is given for and what it is played on are one product',
    from: '2026-01-19',
    source: 'LCCP SR code 5.1.1(3b)',
    url: SR_511,
  }),
  rule('ukgc', 'marketing_consent', {
    kind: 'consent',
    params: { per_product: ['betting', 'casino', 'bingo'], per_channel: ['email', 'sms', 'phone'] },
    at: ['message'],
    summary: 'Players opt in to direct marketing for each product and channel; push and post are outside it',
    from: '2025-05-01',
    source: 'LCCP SR code 5.1.12, as law firms report it',
    url: 'https://www.wiggin.co.uk/',
    evidence: 'secondary',
  }),
  rule('ukgc', 'at_risk', {
    kind: 'no_new_bonus_when',
    params: { risk: ['strong'] },
    at: ['grant', 'message'],
    summary: 'No marketing and no new bonus where there are strong indicators of harm',
    from: '2023-10-31',
    source: 'LCCP SR code 3.4.3, guidance on requirement 10',
    url: 'https://www.gamblingcommission.gov.uk/guidance/customer-interaction-guidance-for-remote-gambling-licensees-formal-guidance/requirement-10-customer-interaction-guidance-for-remote-gambling-licensees',
  }),
  rule('ukgc', 'vip_checks', {
    kind: 'vip_checks',
    params: { checks: ['affordability_at', 'harm_check_at', 'edd_at', 'approved_by'] },
    at: ['tier'],
    summary:
      'Affordability, harm and due diligence are checked, and a holder of a PML approves, before VIP service',
    from: '2020-10-31',
    source: 'High Value Customers: Industry guidance, 2020-09-30',
    url: 'https://www.gamblingcommission.gov.uk/guidance/high-value-customers-industry-guidance',
  }),
];

const SKAT = 'https://info.skat.dk/data.aspx?oid=2168695';
const SPILLEMYNDIGHEDEN = 'https://www.spillemyndigheden.dk/';

const DENMARK: readonly LicenceRule[] = [
  rule('denmark', 'max_value', {
    kind: 'max_bonus_value',
    params: { amount: 1_000, currency: 'DKK' },
    at: ['template', 'grant'],
    summary: 'A bonus is worth at most DKK 1,000',
    source: 'Spillemyndigheden on bonuses',
    url: SPILLEMYNDIGHEDEN,
  }),
  rule('denmark', 'max_wagering', {
    kind: 'max_wagering_multiple',
    params: { multiple: 10, base: 'bonus_plus_deposit' },
    at: ['template', 'grant'],
    summary: 'Bonus and deposit together are wagered at most 10 times',
    source: 'Spillemyndigheden on bonuses',
    url: SPILLEMYNDIGHEDEN,
  }),
  rule('denmark', 'contribution_100', {
    kind: 'contribution_all_100',
    params: NONE,
    at: ['template', 'grant'],
    summary: 'Every game counts in full towards wagering',
    source: 'Spillemyndigheden on bonuses',
    url: SPILLEMYNDIGHEDEN,
  }),
  rule('denmark', 'no_wagering_on_winnings', {
    kind: 'no_wagering_on_winnings',
    params: NONE,
    at: ['template', 'grant'],
    summary: 'Winnings need not be wagered',
    source: 'Spillemyndigheden on bonuses',
    url: SPILLEMYNDIGHEDEN,
  }),
  rule('denmark', 'deposit_equals_bonus', {
    kind: 'deposit_equals_bonus_100pct',
    params: NONE,
    at: ['template', 'grant'],
    summary: 'A bonus on a deposit is 100 % of it',
    source: 'Spillemyndigheden on bonuses',
    url: SPILLEMYNDIGHEDEN,
  }),
  rule('denmark', 'min_days', {
    kind: 'min_days_to_fulfil',
    params: { days: 60 },
    at: ['template', 'grant'],
    summary: 'Players have at least 60 days to meet the conditions',
    source: 'Den juridiske vejledning, oid 2168695 (BEK 65/2012 § 6, BEK 66/2012 § 19)',
    url: SKAT,
  }),
  rule('denmark', 'same_terms', {
    kind: 'same_terms',
    params: NONE,
    at: ['grant'],
    summary: 'No player gets a bonus on other terms than the other players',
    source: 'Den juridiske vejledning, oid 2168695',
    url: SKAT,
  }),
];

const SPELINSPEKTIONEN = 'https://www.spelinspektionen.se/fragor--svar/bonus--insatser/';

const SWEDEN: readonly LicenceRule[] = [
  rule('sweden', 'first_bonus_only', {
    kind: 'first_bonus_only',
    params: NONE,
    at: ['grant'],
    summary: 'One bonus per player and licence, the first time; cashback and free bets count',
    from: '2019-01-01',
    source: 'Spellagen (2018:1138) 14:9',
    url: SPELINSPEKTIONEN,
  }),
  rule('sweden', 'min_days', {
    kind: 'min_days_to_fulfil',
    params: { days: 60 },
    at: ['template', 'grant'],
    summary: 'Players have at least 60 days to meet the conditions',
    source: 'Spelinspektionen, questions and answers on bonuses',
    url: SPELINSPEKTIONEN,
  }),
  rule('sweden', 'same_terms', {
    kind: 'same_terms',
    params: NONE,
    at: ['grant'],
    summary: 'No player gets a bonus on other terms than others under the same conditions',
    source: 'Spelinspektionen, questions and answers on bonuses',
    url: SPELINSPEKTIONEN,
  }),
];

const KSA = 'https://kansspelautoriteit.nl/';

const NETHERLANDS: readonly LicenceRule[] = [
  rule('netherlands', 'min_age', {
    kind: 'min_age',
    params: { years: 24 },
    at: ['grant'],
    summary: 'Nobody under 24 gets a bonus',
    source: 'Kansspelautoriteit on bonuses and young adults',
    url: 'https://kansspelautoriteit.nl/voor-zakelijke-aanbieders/online-kansspel/vragen-vergunning-online-kansspelen/vragen-onderwerp-reclame/virtuele-map/mag-bonus-richten-minderjarigen',
  }),
  rule('netherlands', 'no_loss_based', {
    kind: 'no_loss_based',
    params: NONE,
    at: ['template', 'grant'],
    summary: 'No bonus that makes up for losses, such as cashback',
    from: '2024-02-01',
    source: 'Kansspelautoriteit, “Eisen bonussen”',
    url: KSA,
  }),
  rule('netherlands', 'at_risk', {
    kind: 'no_bonus_when',
    params: { risk: ['low', 'strong'] },
    at: ['grant'],
    summary: 'No bonus to players at risk',
    source: 'Kansspelautoriteit, “Eisen bonussen”',
    url: KSA,
  }),
  rule('netherlands', 'no_false_urgency', {
    kind: 'conduct',
    params: NONE,
    at: ['campaign'],
    summary: 'Offers create no false urgency',
    severity: 'info',
    source: 'Kansspelautoriteit, “Eisen bonussen”',
    url: KSA,
  }),
];

/** Of operators' help pages; articles 13.1 and 13.3 of RD 958/2020 are annulled (STS 527/2024): counsel decides. */
const SPANISH = {
  at: ['grant'],
  severity: 'warn',
  evidence: 'secondary',
  source: 'Help pages of operators; cf. RD 958/2020 art. 13 and STS 527/2024 of 2024-04-02',
  url: 'https://www.bwin.es/',
} as const;

const SPAIN: readonly LicenceRule[] = [
  rule('spain', 'min_account_age', {
    ...SPANISH,
    kind: 'min_account_age_days',
    params: { days: 30 },
    summary: 'The account is at least 30 days old',
  }),
  rule('spain', 'verified', {
    ...SPANISH,
    kind: 'verified',
    params: NONE,
    summary: 'The player’s identity is verified',
  }),
  rule('spain', 'no_bonus_when', {
    ...SPANISH,
    kind: 'no_bonus_when',
    params: { risk: ['low', 'strong'], pending_withdrawal: true, limit_raised_days: 30 },
    summary: 'No bonus during a withdrawal, within 30 days of a raised limit, or to players at risk',
  }),
];

const AGCO = { source: 'AGCO Registrar’s Standards for Internet Gaming 2.05', url: 'https://www.agco.ca/' };

const ONTARIO: readonly LicenceRule[] = [
  rule('ontario', 'no_public_advertising', {
    ...AGCO,
    kind: 'no_public_advertising',
    params: NONE,
    at: ['campaign'],
    summary: 'Inducements are not advertised in public; on the operator’s own site they may be shown',
    from: '2022-04-04',
  }),
  rule('ontario', 'marketing_consent', {
    ...AGCO,
    kind: 'consent',
    params: { per_product: [], per_channel: ['email', 'sms', 'phone', 'push'] },
    at: ['message'],
    summary: 'Direct messages on bonuses go only to players who consented on the gaming site',
    from: '2022-04-04',
  }),
];

const MGA = 'MGA Player Protection Directive (2 of 2018), as amended 2023-01-12';
const GVZH = 'https://gvzh.mt/insights/gaming-what-recent-changes-player-protection-directive/';

const MALTA: readonly LicenceRule[] = [
  rule('malta', 'self_excluded', {
    kind: 'no_bonus_when',
    params: { statuses: ['self_excluded'] },
    at: ['grant', 'message'],
    summary: 'No bonus and no marketing to players who excluded themselves',
    from: '2023-01-12',
    source: MGA,
    url: GVZH,
    evidence: 'secondary',
  }),
  rule('malta', 'clear_terms', {
    kind: 'conduct',
    params: NONE,
    at: ['template'],
    summary: 'Terms are clear; no limit in numbers was found, and the articles on bonuses were not read',
    severity: 'info',
    source: MGA,
    url: GVZH,
    evidence: 'unverified',
  }),
];

const GERMAN = {
  at: ['template'],
  severity: 'info',
  evidence: 'unverified',
  source: 'Weak sites only; a matter of licences’ side conditions, cf. VG München M 27 K 23.2236',
  url: 'https://www.gluecksspiel-behoerde.de/',
} as const;

const GERMANY: readonly LicenceRule[] = [
  rule('germany', 'max_value', {
    ...GERMAN,
    at: ['template', 'grant'],
    kind: 'max_bonus_value',
    params: { amount: 100, currency: 'EUR' },
    summary: 'A bonus is worth at most EUR 100',
  }),
  rule('germany', 'low_multiple', {
    ...GERMAN,
    kind: 'conduct',
    params: NONE,
    summary: 'Wagering is a low multiple; no number was found',
  }),
];

const OWN = { source: 'The service’s own rule', url: null } as const;

const ALL: readonly LicenceRule[] = [
  rule('all', 'protected', {
    ...OWN,
    kind: 'no_bonus_when',
    params: { statuses: ['self_excluded', 'banned', 'cooldown'] },
    at: ['grant', 'message'],
    summary: 'Nothing to players who are excluded, banned or cooling down',
  }),
  rule('all', 'min_age', {
    ...OWN,
    kind: 'min_age',
    params: { years: 18 },
    at: ['grant'],
    summary: 'Nobody under 18 gets a bonus',
  }),
];

/** Every rule. Not legal advice: `evidence` says how well each is known. */
export const LICENCE_RULES: readonly LicenceRule[] = [
  ...UKGC,
  ...DENMARK,
  ...SWEDEN,
  ...NETHERLANDS,
  ...SPAIN,
  ...ONTARIO,
  ...MALTA,
  ...GERMANY,
  ...ALL,
];
