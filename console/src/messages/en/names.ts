type Names = Readonly<Record<string, string>>;

/**
 * The words for what the service names by a code and several screens show. A code that is not here is shown as it is:
 * test/console/names.test.ts compares the tables with the service.
 */
export const names = {
  channels: { email: 'Email', sms: 'SMS', push: 'Push' },
  /** By which id a player was found. */
  ids: {
    player_id: 'player id',
    external_id: 'external id',
    email: 'email',
    phone: 'phone',
    telegram_id: 'Telegram id',
    anonymous_id: 'device id',
  } as Names,
  kycModels: {
    platform_owns: 'The casino platform',
    crm_owns: 'This service',
    dual: 'Both: the platform and this service',
    none: 'None',
  } as Names,
  /** Tools for players, and the registers of excluded players by their names. */
  rgFeatures: {
    deposit_limits: 'Deposit limits',
    loss_limits: 'Loss limits',
    wager_limits: 'Wager limits',
    balance_limits: 'Balance limits',
    session_limits: 'Session limits',
    reality_checks: 'Reality checks',
    cool_off: 'Cool-off',
    self_exclusion: 'Self-exclusion',
    gamstop: 'GAMSTOP (register of Great Britain)',
    spelpaus: 'Spelpaus (register of Sweden)',
    rofus: 'ROFUS (register of Denmark)',
    oasis: 'OASIS (register of Germany)',
    lugas: 'LUGAS (limits across operators in Germany)',
    cruks: 'Cruks (register of the Netherlands)',
    rgiaj: 'RGIAJ (register of Spain)',
    rua: 'RUA (register of Italy)',
    hampi: 'HAMPI (register of Estonia)',
    epis: 'EPIS (register of Belgium)',
    national_self_exclusion_list: 'National register of excluded players',
    state_self_exclusion_list: 'Register of excluded players of the state',
  } as Names,
  /** Where a rule of a licence applies. */
  rulePoints: {
    template: 'Bonus templates',
    campaign: 'Bonus campaigns',
    grant: 'Bonuses given',
    message: 'Messages',
    tier: 'VIP tiers',
  } as Names,
  /** How well a rule of a licence is known. */
  evidence: {
    primary: 'Text of the law or the regulator',
    secondary: 'Report about it',
    unverified: 'Not verified',
  } as Names,
  /** Why an event could not be applied. */
  rejections: {
    MALFORMED_RECORD: 'The record cannot be read',
    UNKNOWN_PLAYER: 'The player does not exist',
    CONFLICTING_DUPLICATE: 'It came before with other content',
    DUPLICATE_DIFFERS: 'It came before with other details',
    AMOUNT_OUT_OF_RANGE: 'The amount is out of range',
    POISON_RECORD: 'The event failed each time',
  } as Names,
  /** Why intake refused an event or a request. */
  refusals: {
    BODY_MALFORMED: 'Not JSON of the right shape',
    VALIDATION_ERROR: 'A field of the event is wrong',
    PROPERTIES_INVALID: 'A property is wrong',
    IDENTITY_REQUIRED: 'It names no player',
    KEY_KIND_FORBIDDEN: 'Not allowed with a client key',
    FORBIDDEN: 'From a page of another origin',
    PAYLOAD_TOO_LARGE: 'Too large',
    UNSUPPORTED_MEDIA_TYPE: 'Of another type or encoding',
    RATE_LIMITED: 'Above the rate',
  } as Names,
  rateSources: {
    frankfurter: 'Frankfurter',
    'frankfurter-v2': 'Frankfurter, all banks',
    coingecko: 'CoinGecko',
    manual: 'Set by hand',
    identity: 'Needs none',
    none: 'None: amounts wait',
  } as Names,
  consumers: {
    'player-fold': 'Totals of players',
    'analytics-sink': 'Events for segments and reports',
    'campaign-trigger': 'Campaigns that events fire',
    'journey-matcher': 'Journeys',
    'bonus-wagering': 'Wagering of bonuses',
  } as Names,
  queues: {
    'event-rewriter': 'Events to correct',
    'fx-restater': 'Rates to apply',
    'pending-conversions': 'Amounts that wait for a rate',
    'vip-tiers': 'Tiers to compute',
    'dirty-players': 'Players to evaluate for segments',
    'segment-changes': 'Changes of segments to publish',
    'fan-out': 'Parts of campaigns to send',
    messages: 'Messages to send',
    'message-events': 'Events about messages to publish',
    'subscription-facts': 'Events to queue for subscriptions',
    webhooks: 'Webhooks to call',
    'insight-notices': 'Notices of alerts and reports to send',
    'kyc-calls': 'KYC calls',
    'kyc-calls-late': 'KYC calls that are late',
    'kyc-events': 'KYC events to publish',
    'bonus-calls': 'Bonus calls',
    'bonus-events': 'Bonus events to publish',
  } as Names,
};
