import { z } from 'zod';
import { nameSchemas, trimmedText } from '../../http/field-schemas.ts';
import { tightenable } from '../licence/effective.ts';
import {
  EVIDENCE,
  JURISDICTIONS,
  RULE_POINTS,
  RULE_SEVERITIES,
  type LicenceRule,
  type RuleOverride,
} from '../licence/rule.ts';
import { LICENCE_RULES } from '../licence/rules.ts';
import { isUuid } from '../../platform/ids.ts';
import { isTimeZone } from '../../platform/time-zone.ts';
import { KYC_MODEL_VALUES, LICENSE_VALUES, RG_FEATURE_VALUES, VERTICAL_VALUES } from './catalogue.ts';
import type { MergePatch } from '../../platform/json-object.ts';

const MAX_CAP = 1_000_000;
const MAX_PARAM = 100_000;

/** By schema, so that what is used more than once has one patch schema. */
const patchSchemas = new WeakMap<z.ZodType, z.ZodType>();
const nullablePatches = new WeakMap<z.ZodType, z.ZodType>();

const license = z.enum(LICENSE_VALUES);
const kyc_model = z.enum(KYC_MODEL_VALUES);
const rg_feature = z.enum(RG_FEATURE_VALUES);
const vertical = z.enum(VERTICAL_VALUES);
const verticals = setOf(vertical, VERTICAL_VALUES.length);

/**
 * A field of quiet hours, which must be complete after the merge: the error asks the caller to set a missing one too.
 */
const part = {
  error: ({ input }: { input?: unknown }) => (input === undefined ? 'must be set, too' : undefined),
};
const time = z.string(part).regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day from 00:00 to 23:59');
const timeZone = (text: z.ZodString) =>
  text.refine(isTimeZone, 'must be an IANA time zone, such as Europe/Malta');
const cap = z.int().min(0).max(MAX_CAP).describe('0 lets nothing through; without it there is no cap');

/** Messages to one player on one channel, in any 24 hours and in any 7 days. */
const channelCaps = z.strictObject({ per_day: cap.optional(), per_week: cap.optional() });

const severity = z
  .enum(['enforce', 'warn'])
  .describe('`enforce` refuses what breaks the rule, `warn` only shows it');
const reason = trimmedText(1, 500).describe(
  'Why; must be given where the rule allows more than before. The audit log keeps it',
);
const plainOverride = z.strictObject({ severity: severity.optional(), reason: reason.optional() });

/** What a tenant changes of a licence rule: numbers only towards the stricter side. */
function overrideOf(rule: LicenceRule) {
  const params = tightenable(rule).map(({ name, direction, value }) => {
    const bound = direction === 'lower' ? 'most' : 'least';
    const error = `must be a whole number of at ${bound} ${value}: a tenant may only tighten a rule`;
    const number = z.int({ error });
    const bounded =
      direction === 'lower'
        ? number.min(1, { error }).max(value, { error })
        : number.min(value, { error }).max(MAX_PARAM, { error });
    return [name, bounded.optional()] as const;
  });
  return params.length === 0
    ? plainOverride
    : z.strictObject({
        ...plainOverride.shape,
        params: z.strictObject(Object.fromEntries(params)).optional(),
      });
}

const license_rules = z.strictObject(
  Object.fromEntries(LICENCE_RULES.map((rule) => [rule.id, overrideOf(rule).optional()])),
) as z.ZodObject<Record<string, z.ZodOptional<z.ZodType<RuleOverride>>>>;

const bonuses = z.strictObject({
  paused: z.boolean().describe('Nothing is granted and campaigns are stopped').optional(),
  on_exclusion: z
    .enum(['keep', 'cancel'])
    .describe('What happens to active bonuses of a player who is excluded; default: keep')
    .optional(),
  grants_per_day: z.int().min(0).max(1_000).describe('To one player in any 24 hours; default: 5').optional(),
});

const MAX_SENT_NAME = 256;
const MAX_EVENT_NAME = 128;
const MAX_NAMES_BYTES = 8_192;

const sentName = z.string().min(1).max(MAX_SENT_NAME);
const eventName = z.string().min(1).max(MAX_EVENT_NAME);

/** Names of events in the Segment dialect, and ours; below the id of a project those of that project alone. */
const segment_events = z
  .record(sentName, z.union([eventName, z.record(sentName, eventName)]))
  .refine(
    (names) => Buffer.byteLength(JSON.stringify(names)) <= MAX_NAMES_BYTES,
    `must be at most ${MAX_NAMES_BYTES} bytes of JSON`,
  )
  .refine(
    (names) => Object.entries(names).every(([name, value]) => isUuid(name) === (typeof value === 'object')),
    'must have a name of an event for each name, and a map of names for each id of a project',
  );

const MAX_DEDUCTIONS = 20;
const BASIS_POINTS = 10_000;

/** What taxes, fees and other parties take of revenue. */
const deduction = z.strictObject({
  name: trimmedText(1, 100),
  product: z.enum(['casino', 'sport']).describe('Of this product alone; absent: of all').optional(),
  basis: z
    .enum(['ggr', 'stakes', 'deposits'])
    .describe('Of what it is a share; deposits belong to no product'),
  bp: z.int().min(0).max(BASIS_POINTS).describe('Hundredths of a percent'),
});

const reporting = z.strictObject({
  timezone: timeZone(z.string())
    .describe('The time zone of the days, hours and weeks of figures; default: UTC')
    .optional(),
  deductions: z
    .array(
      deduction.refine(({ basis, product }) => basis !== 'deposits' || product === undefined, {
        path: ['product'],
        message: 'must be omitted: deposits belong to no product',
      }),
    )
    .max(MAX_DEDUCTIONS)
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'must not have a name twice')
    .describe('Less in NGR, a line each; default: none')
    .optional(),
  bonus_cost: z
    .enum(['feed', 'grants'])
    .describe(
      'Where bonus cost comes from: bonus parts and credits of events, or the released amounts of grants; default: feed',
    )
    .optional(),
});

/**
 * A tenant's `config`. Unknown keys are refused: a misspelt rule must not be accepted and then have no effect. Every
 * key is optional except those of quiet hours, which have a meaning only together.
 */
const config = z.strictObject({
  rg_features: setOf(rg_feature, RG_FEATURE_VALUES.length).optional(),
  messaging: z
    .strictObject({
      quiet_hours: z
        .strictObject({
          start: time,
          end: time.describe('Not included; the same as `start` means no quiet hours'),
          default_timezone: timeZone(z.string(part)).describe(
            'The time zone of players without one of their own',
          ),
        })
        .optional(),
      frequency_caps: z
        .strictObject({
          email: channelCaps.optional(),
          sms: channelCaps.optional(),
          push: channelCaps.optional(),
        })
        .optional(),
      consent_required: z
        .boolean()
        .describe('Whether a player who has said nothing on a channel gets no messages there')
        .optional(),
    })
    .optional(),
  bonuses: bonuses.optional(),
  reporting: reporting.optional(),
  segment_events: segment_events
    .describe(
      'Segment dialect: names of events that senders use, with the canonical or custom_ names that they mean',
    )
    .optional(),
  segment_ip: z
    .boolean()
    .describe('Segment dialect: whether context.ip is kept in the properties of events; default: false')
    .optional(),
  license_rules: license_rules.describe('By id of the rule, see catalogue.license_rules').optional(),
});

/** The whole configuration as it must be after a change. */
export const tenantSettings = z.strictObject({
  license_jurisdiction: license.nullable(),
  verticals,
  kyc_model,
  config,
});
export type TenantSettings = z.infer<typeof tenantSettings>;

/** A tenant's settings, and the currency of its totals. */
export interface TenantConfig extends TenantSettings {
  base_currency: string;
}

/** `PATCH /v1/tenant/config`: absent fields stay; `config` is a merge patch (RFC 7396). */
export const patchTenantConfigBody = z.strictObject({
  license_jurisdiction: license.nullable().optional(),
  verticals: verticals.optional(),
  kyc_model: kyc_model.optional(),
  config: mergePatchOf(config).optional(),
});
export type PatchTenantConfigBody = z.infer<typeof patchTenantConfigBody>;

const labelled = <T extends string>(value: z.ZodType<T>) => z.array(z.object({ value, label: z.string() }));

/** The answer of both endpoints. */
export const tenantConfigResource = z.object({
  ...tenantSettings.shape,
  base_currency: z.string(),
  catalogue: z.object({
    licenses: labelled(license),
    verticals: labelled(vertical),
    kyc_models: labelled(kyc_model),
    rg_features: z.array(rg_feature),
    license_defaults: z
      .partialRecord(
        license,
        z.object({
          suggested_verticals: z.array(vertical),
          rg_features: z.array(rg_feature),
          kyc_model,
          hint: z.string(),
        }),
      )
      .describe('Of every licence'),
    license_rules: z
      .array(
        z.object({
          id: z.string(),
          jurisdiction: z.enum(JURISDICTIONS),
          licenses: z.array(license),
          kind: z.string(),
          params: z.record(z.string(), z.unknown()),
          applies_to: z.array(z.enum(RULE_POINTS)),
          effective_from: z.iso.date().nullable(),
          effective_to: z.iso.date().nullable(),
          severity: z.enum(RULE_SEVERITIES),
          summary: z.string(),
          source: z.string(),
          source_url: z.url().nullable(),
          evidence: z.enum(EVIDENCE),
          checked_on: z.iso.date(),
        }),
      )
      .describe('Rules of licences on bonuses, as data with their sources; no legal advice'),
  }),
});

/** An array without duplicates. */
function setOf<T extends z.ZodType>(value: T, max: number) {
  return z
    .array(value)
    .max(max)
    .refine((values) => new Set(values).size === values.length, 'must not name a value twice')
    .meta({ uniqueItems: true });
}

/** The schema of a merge patch for values of `schema`: every field of an object is optional and may be null. */
function mergePatchOf<T extends z.ZodType>(schema: T): z.ZodType<MergePatch<z.infer<T>>> {
  return patchSchema(schema) as z.ZodType<MergePatch<z.infer<T>>>;
}

/** The patch of a field that may be null; of one schema always the same, so that it can have a name. */
function nullablePatch(schema: z.ZodType): z.ZodType {
  const patch = patchSchema(schema);
  const known = nullablePatches.get(patch);
  if (known !== undefined) return known;
  const made = patch.nullable();
  nullablePatches.set(patch, made);
  return made;
}

function patchSchema(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return patchSchema(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodRecord) {
    const { keyType, valueType } = schema as z.ZodRecord<z.ZodString, z.ZodType>;
    return z.record(keyType, patchSchema(valueType).nullable());
  }
  if (schema instanceof z.ZodUnion)
    return z.union((schema.options as z.ZodType[]).map((option) => patchSchema(option)));
  if (!(schema instanceof z.ZodObject)) return schema;
  const known = patchSchemas.get(schema);
  if (known !== undefined) return known;
  const fields = Object.entries<z.ZodType>(schema.shape);
  const made = z.strictObject(
    Object.fromEntries(fields.map(([name, field]) => [name, nullablePatch(field).optional()])),
  );
  patchSchemas.set(schema, made);
  return made;
}

nameSchemas({
  PatchTenantConfigBody: patchTenantConfigBody,
  TenantConfig: tenantConfigResource,
  Licence: license,
  KycModel: kyc_model,
  ResponsibleGamingFeature: rg_feature,
  Vertical: vertical,
  RuleSeverity: severity,
  RuleReason: reason,
  RuleOverride: plainOverride,
  PatchRuleOverride: nullablePatch(plainOverride),
  ChannelCaps: channelCaps,
  PatchChannelCaps: patchSchema(channelCaps),
});
