import type { TenantConfig } from '../../tenants/config/read.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import type { QuietHours } from './quiet-hours.ts';

/** A tenant's quiet hours, and the zone of players without one of their own. */
export interface TenantQuietHours extends QuietHours {
  default_timezone: string;
}

/** The tenant's rules for messages of one channel (spec part 4). */
export interface GateRules {
  channel: Channel;
  /** The most messages in any 24 hours and in any 7 days; null: no cap. */
  per_day: number | null;
  per_week: number | null;
  /** Whether a player without a stored consent gets no messages. */
  consent_required: boolean;
  quiet_hours: TenantQuietHours | null;
}

/** The rules of a tenant for a channel. */
export function gateRulesOf({ config }: Pick<TenantConfig, 'config'>, channel: Channel): GateRules {
  const { frequency_caps, consent_required = false, quiet_hours } = config.messaging ?? {};
  const { per_day, per_week } = frequency_caps?.[channel] ?? {};
  const is_quiet_sometime = quiet_hours !== undefined && quiet_hours.start !== quiet_hours.end;
  return {
    channel,
    per_day: per_day ?? null,
    per_week: per_week ?? null,
    consent_required,
    quiet_hours: is_quiet_sometime ? quiet_hours : null,
  };
}

/** The rules for a test, which a user asked for: without caps and quiet hours. */
export function withoutTiming(rules: GateRules): GateRules {
  return { ...rules, per_day: null, per_week: null, quiet_hours: null };
}
