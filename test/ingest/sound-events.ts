type Body = Record<string, unknown>;

/** A valid event that has only a name and an identity; `more` replaces or adds fields. */
export const login = (more: Body = {}): Body => ({ event: 'login', anonymous_id: 'somebody', ...more });

/** An event whose properties have no schema. */
export const custom = (properties: unknown): Body => login({ event: 'custom_thing', properties });

/** A deposit; `more` replaces or adds properties. */
export const deposit = (more: Body = {}): Body =>
  login({
    event: 'deposit_confirmed',
    properties: { amount: 100, currency: 'EUR', transaction_id: 't', payment_method: 'card', ...more },
  });

/** The timestamp this many hours from now. */
export const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

/** The required properties of the specification and of `feeds.md`, with a valid value for each. */
export const REQUIRED: [string[], Body][] = [
  [
    ['deposit_confirmed', 'deposit_initiated'],
    { amount: 1, currency: 'EUR', transaction_id: 't', payment_method: 'crypto' },
  ],
  [['withdrawal_confirmed', 'withdrawal_requested'], { amount: 1, currency: 'EUR', transaction_id: 't' }],
  [['bet_placed'], { amount: 1, currency: 'EUR', bet_id: 'b', game_id: 'g', game_category: 'crash' }],
  [
    ['bet_settled'],
    {
      amount: 1,
      payout: 0,
      currency: 'EUR',
      bet_id: 'b',
      game_id: 'g',
      game_category: 'dice',
      outcome: 'lost',
    },
  ],
  [
    ['sport_bet_placed'],
    {
      amount: 1,
      currency: 'EUR',
      bet_id: 's',
      sport: 'tennis',
      bet_type: 'system',
      odds: '1.05',
      event_ref: 'match-1',
    },
  ],
  // The specification lists no required properties for these.
  [['sport_bet_settled', 'sport_cashout', 'bet_won'], { bet_id: 'c', payout: 0, currency: 'EUR' }],
  [['sport_bet_voided', 'bet_lost'], { bet_id: 'd' }],
  [['bet_voided', 'sport_bet_reopened'], { bet_id: 'e' }],
  [
    ['deposit_reversed', 'withdrawal_reversed'],
    { amount: 1, currency: 'EUR', transaction_id: 'r', reversal_id: 'r-1' },
  ],
  [
    ['balance_credited', 'balance_debited'],
    { amount: 1, currency: 'EUR', transaction_id: 'k', reason: 'goodwill' },
  ],
];
/** Valid required properties of the event. */
export const propertiesOf = (event: string): Body =>
  REQUIRED.find(([events]) => events.includes(event))?.[1] ?? {};

/** Every event name, written by hand from the specification and `feeds.md`. */
export const CANONICAL = `
  signup login logout session_start session_end page_view click kyc_submitted kyc_approved kyc_rejected
  kyc_expired kyc_level_upgraded self_exclusion_set self_exclusion_lifted deposit_limit_set
  deposit_limit_reached loss_limit_set loss_limit_reached session_limit_warning session_limit_exceeded
  reality_check cooldown_entered deposit_initiated deposit_confirmed deposit_failed withdrawal_requested
  withdrawal_confirmed withdrawal_failed bet_placed bet_won bet_lost bet_settled sport_bet_placed
  sport_bet_settled sport_bet_voided sport_cashout bonus_claimed bonus_wagered bonus_completed
  bonus_expired email_sent email_opened email_clicked email_bounced sms_sent sms_clicked push_sent
  push_opened push_clicked
  bet_voided sport_bet_reopened deposit_reversed withdrawal_reversed balance_credited balance_debited
`
  .trim()
  .split(/\s+/);
