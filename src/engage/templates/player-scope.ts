/** What templates may know of a player. */
export interface ScopePlayer {
  player_id: string;
  external_id: string | null;
  email: string | null;
  phone: string | null;
  timezone: string | null;
  default_currency_code: string;
  current_tier_code: string | null;
  custom_attributes: Record<string, unknown>;
}

/** What there is to say beside the player. */
export interface ScopeExtra {
  /** What set the message off: the context of a journey's run, or the event that fired a campaign. */
  context?: unknown;
  journey?: unknown;
  bonus?: unknown;
  unsubscribe_url?: string;
}

/**
 * The variables of a template: the player's attributes and fields at the top level and in `player` (fields win), and
 * `bonus`, `journey.context`, `unsubscribe_url`, which no attribute can stand in for.
 */
export function playerScope(player: ScopePlayer, extra: ScopeExtra = {}): Record<string, unknown> {
  const { custom_attributes, player_id, ...own } = player;
  const fields = { ...custom_attributes, id: player_id, player_id, ...own };
  const { context = null, journey = { context }, bonus = null, unsubscribe_url = null } = extra;
  return {
    ...fields,
    player: { ...fields, custom_attributes },
    context,
    journey,
    bonus,
    unsubscribe_url,
  };
}

/** Somebody to show a template with. */
export const SYNTHETIC_PLAYER: ScopePlayer = {
  player_id: '00000000-0000-4000-8000-000000000000',
  external_id: 'player-1',
  email: 'alex.sample@example.com',
  phone: '+35621000000',
  timezone: 'Europe/Malta',
  default_currency_code: 'EUR',
  current_tier_code: 'gold',
  custom_attributes: {
    first_name: 'Alex',
    last_name: 'Sample',
    username: 'alex',
    language: 'en',
    country: 'MT',
  },
};

/** What goes with {@link SYNTHETIC_PLAYER}. */
export const SYNTHETIC_BONUS = { code: 'WELCOME100', name: 'Welcome bonus', amount: 10_000, currency: 'EUR' };
