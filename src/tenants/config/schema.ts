import { z } from 'zod';
import { isTimeZone } from '../../platform/time-zone.ts';
import { KYC_MODEL_VALUES, LICENSE_VALUES, RG_FEATURE_VALUES, VERTICAL_VALUES } from './catalogue.ts';
import type { MergePatch } from './merge.ts';

const MAX_CAP = 1_000_000;

const license = z.enum(LICENSE_VALUES);
const kyc_model = z.enum(KYC_MODEL_VALUES);
const verticals = setOf(z.enum(VERTICAL_VALUES), VERTICAL_VALUES.length);

/**
 * A field of quiet hours, which must be complete after the merge: the error asks the caller to set a missing one too.
 */
const part = {
  error: ({ input }: { input?: unknown }) => (input === undefined ? 'must be set, too' : undefined),
};
const time = z.string(part).regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day from 00:00 to 23:59');
const cap = z.int().min(0).max(MAX_CAP).describe('0 lets nothing through; without it there is no cap');

/** Messages to one player on one channel, in any 24 hours and in any 7 days. */
const channelCaps = z.strictObject({ per_day: cap.optional(), per_week: cap.optional() });

/**
 * A tenant's `config`. Unknown keys are refused: a misspelt rule must not be accepted and then have no effect. Every
 * key is optional except those of quiet hours, which have a meaning only together.
 */
const config = z.strictObject({
  rg_features: setOf(z.enum(RG_FEATURE_VALUES), RG_FEATURE_VALUES.length).optional(),
  messaging: z
    .strictObject({
      quiet_hours: z
        .strictObject({
          start: time,
          end: time.describe('Not included; the same as `start` means no quiet hours'),
          default_timezone: z
            .string(part)
            .refine(isTimeZone, 'must be an IANA time zone, such as Europe/Malta')
            .describe('Of players without a time zone of their own'),
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
});

/** The whole configuration as it must be after a change. */
export const tenantSettings = z.strictObject({
  license_jurisdiction: license.nullable(),
  verticals,
  kyc_model,
  config,
});
export type TenantSettings = z.infer<typeof tenantSettings>;

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
    verticals: labelled(verticals.element),
    kyc_models: labelled(kyc_model),
    rg_features: z.array(z.enum(RG_FEATURE_VALUES)),
    license_defaults: z.record(
      license,
      z.object({
        suggested_verticals: z.array(verticals.element),
        rg_features: z.array(z.enum(RG_FEATURE_VALUES)),
        kyc_model,
        hint: z.string(),
      }),
    ),
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

function patchSchema(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return patchSchema(schema.unwrap() as z.ZodType);
  if (!(schema instanceof z.ZodObject)) return schema;
  const fields = Object.entries<z.ZodType>(schema.shape);
  return z.strictObject(
    Object.fromEntries(fields.map(([name, field]) => [name, patchSchema(field).nullable().optional()])),
  );
}
