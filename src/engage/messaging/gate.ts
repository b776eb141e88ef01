import { messageRulesOf, type MessageRules } from '../../tenants/licence/message-gate.ts';
import { licenceRulesOf } from '../../tenants/config/bonus-settings.ts';
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
  /** What the tenant's licence asks of messages on bonuses. */
  licence: MessageRules;
}

/** The rules of a tenant for a channel that hold now. */
export function gateRulesOf(
  settings: Pick<TenantConfig, 'config' | 'license_jurisdiction'>,
  channel: Channel,
  now: Date,
): GateRules {
  const { config } = settings;
  const { frequency_caps, consent_required = false, quiet_hours } = config.messaging ?? {};
  const { per_day, per_week } = frequency_caps?.[channel] ?? {};
  const is_quiet_sometime = quiet_hours !== undefined && quiet_hours.start !== quiet_hours.end;
  return {
    channel,
    per_day: per_day ?? null,
    per_week: per_week ?? null,
    consent_required,
    quiet_hours: is_quiet_sometime ? quiet_hours : null,
    licence: messageRulesOf(licenceRulesOf(settings, now), channel),
  };
}

/** The rules for a test, which a user asked for: without caps and quiet hours. */
export function withoutTiming(rules: GateRules): GateRules {
  return { ...rules, per_day: null, per_week: null, quiet_hours: null };
}
