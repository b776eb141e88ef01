/** The fields of a player that templates may read. */
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

/** The variables of a template besides the player. */
export interface ScopeExtra {
  /** What caused the message: the context of a journey run, or the properties of the event that fired a campaign. */
  context?: unknown;
  journey?: unknown;
  bonus?: unknown;
  unsubscribe_url?: string;
}

/**
 * The variables of a template: the player's custom attributes and fields at the top level and in `player` (a field
 * overrides an attribute of its name), and `context`, `journey`, `bonus` and `unsubscribe_url`, which no attribute
 * overrides.
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

/** The player of previews that name none. */
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

/** The bonus of {@link SYNTHETIC_PLAYER}. */
export const SYNTHETIC_BONUS = { code: 'WELCOME100', name: 'Welcome bonus', amount: 10_000, currency: 'EUR' };
