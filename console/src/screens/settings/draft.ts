import { CHANNELS } from '../../api/choices.ts';
import { type LicenceRule, type Settings } from './queries.ts';
import { rulesOf, rulesPatch, type RuleTexts } from './rules.ts';

const SPANS = ['per_day', 'per_week'] as const;

/** The field of a cap: `email.per_day`. */
export const CAP_FIELDS = CHANNELS.flatMap((channel) => SPANS.map((span) => `${channel}.${span}` as const));
export type CapField = (typeof CAP_FIELDS)[number];

/** The settings as the form has them: lists are texts with commas, numbers are digits, nothing is empty. */
export type Draft = Readonly<Record<CapField, string>> &
  RuleTexts & {
    license_jurisdiction: string;
    kyc_model: string;
    verticals: string;
    rg_features: string;
    consent_required: boolean;
    quiet_start: string;
    quiet_end: string;
    quiet_zone: string;
    reporting_zone: string;
    bonuses_paused: boolean;
    on_exclusion: string;
    grants_per_day: string;
  };

/** The fields of the quiet hours, and their names in the API. */
const QUIET = [
  ['quiet_start', 'start'],
  ['quiet_end', 'end'],
  ['quiet_zone', 'default_timezone'],
] as const;

export function draftOf(
  { license_jurisdiction, kyc_model, verticals, config }: Settings,
  rules: readonly LicenceRule[],
): Draft {
  const { quiet_hours, frequency_caps = {}, consent_required = false } = config.messaging ?? {};
  const caps = CHANNELS.flatMap((channel) =>
    SPANS.map((span) => [`${channel}.${span}`, String(frequency_caps[channel]?.[span] ?? '')] as const),
  );
  return {
    ...(Object.fromEntries(caps) as Record<CapField, string>),
    ...rulesOf(config.license_rules ?? {}, rules),
    license_jurisdiction: license_jurisdiction ?? '',
    kyc_model,
    verticals: listed(verticals),
    rg_features: listed(config.rg_features ?? []),
    consent_required,
    quiet_start: quiet_hours?.start ?? '',
    quiet_end: quiet_hours?.end ?? '',
    quiet_zone: quiet_hours?.default_timezone ?? '',
    reporting_zone: config.reporting?.timezone ?? '',
    bonuses_paused: config.bonuses?.paused ?? false,
    on_exclusion: config.bonuses?.on_exclusion ?? '',
    grants_per_day: String(config.bonuses?.grants_per_day ?? ''),
  };
}

/** In one order, so that the same values are the same text. */
export function listed(values: readonly string[]): string {
  return [...values].sort().join(', ');
}

export function valuesOf(text: string): string[] {
  return text === '' ? [] : text.split(', ');
}

/** The merge patch of what is changed and of nothing else; quiet hours are removed when nothing of them is left. */
export function patchOf(changes: Partial<Draft>, draft: Draft): Record<string, unknown> {
  const { license_jurisdiction, kyc_model, verticals, rg_features, consent_required, reporting_zone } =
    changes;
  const zone = reporting_zone?.trim();
  const messaging: Record<string, unknown> = {};
  if (consent_required !== undefined) messaging['consent_required'] = consent_required;
  const quiet = QUIET.filter(([field]) => changes[field] !== undefined);
  if (quiet.length > 0) {
    const is_empty = QUIET.every(([field]) => draft[field].trim() === '');
    messaging['quiet_hours'] = is_empty
      ? null
      : Object.fromEntries(quiet.map(([field, name]) => [name, draft[field].trim()]));
  }
  const caps: Record<string, Record<string, number | null>> = {};
  for (const field of CAP_FIELDS) {
    const digits = changes[field];
    if (digits === undefined) continue;
    const [channel = '', span = ''] = field.split('.');
    (caps[channel] ??= {})[span] = digits.trim() === '' ? null : Number(digits);
  }
  if (Object.keys(caps).length > 0) messaging['frequency_caps'] = caps;
  const bonuses = bonusPatch(changes);
  const license_rules = rulesPatch(changes, draft);
  const config = {
    ...(rg_features === undefined ? {} : { rg_features: valuesOf(rg_features) }),
    ...(Object.keys(messaging).length === 0 ? {} : { messaging }),
    ...(Object.keys(bonuses).length === 0 ? {} : { bonuses }),
    ...(zone === undefined ? {} : { reporting: { timezone: zone === '' ? null : zone } }),
    ...(Object.keys(license_rules).length === 0 ? {} : { license_rules }),
  };
  return {
    ...(license_jurisdiction === undefined
      ? {}
      : { license_jurisdiction: license_jurisdiction === '' ? null : license_jurisdiction }),
    ...(kyc_model === undefined ? {} : { kyc_model }),
    ...(verticals === undefined ? {} : { verticals: valuesOf(verticals) }),
    ...(Object.keys(config).length === 0 ? {} : { config }),
  };
}

function bonusPatch({
  bonuses_paused,
  on_exclusion,
  grants_per_day,
}: Partial<Draft>): Record<string, unknown> {
  return {
    ...(bonuses_paused === undefined ? {} : { paused: bonuses_paused }),
    ...(on_exclusion === undefined ? {} : { on_exclusion: on_exclusion === '' ? null : on_exclusion }),
    ...(grants_per_day === undefined
      ? {}
      : { grants_per_day: grants_per_day.trim() === '' ? null : Number(grants_per_day) }),
  };
}
