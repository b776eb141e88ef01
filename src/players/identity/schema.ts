import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';
import { MAX_ID_LENGTH } from '../../ingest/events/catalogue.ts';
import { emptyIdMessage, isEmptyId } from '../../platform/empty-ids.ts';
import { customAttributes, profileFields } from '../profile/schema.ts';

/** The schema with a check that the id is not the text of an empty value. */
const given = (field: string, id: z.ZodString | z.ZodGUID) =>
  id.refine((text) => !isEmptyId(text), { error: ({ input }) => emptyIdMessage(field, String(input)) });
const id = z.string().min(1).max(MAX_ID_LENGTH);

const { propertyNames, maxProperties } = z.toJSONSchema(customAttributes);

/** Known traits are validated and stored as profile fields; every other one is a custom attribute. */
const traits = z
  .looseObject({
    ...profileFields,
    default_currency_code: z.string().min(1).max(20).optional(),
  })
  .check(({ value, issues }) => {
    for (const issue of customAttributes.safeParse(value).error?.issues ?? [])
      issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
  })
  .meta({ propertyNames, maxProperties });

/** A hash has 64 characters. A longer text is not looked at. */
const MAX_USER_HASH_LENGTH = 256;

/** `POST /v1/players/identify`. */
export const identifyBody = z
  .strictObject({
    anonymous_id: given('anonymous_id', id).optional(),
    external_id: given('external_id', id).optional(),
    player_id: given('player_id', z.guid()).optional(),
    traits: traits.optional(),
    user_hash: z
      .string()
      .max(MAX_USER_HASH_LENGTH)
      .optional()
      .describe(
        'With a client key: HMAC-SHA256(client_secret, external_id) in lower-case hexadecimal, made on your servers. It proves that the user is this external_id, and is not kept',
      ),
  })
  // For the documentation only: the route checks it and answers IDENTITY_REQUIRED.
  .meta({ anyOf: ['anonymous_id', 'external_id', 'player_id'].map((name) => ({ required: [name] })) });
export type IdentifyBody = z.infer<typeof identifyBody>;
export type Traits = z.infer<typeof traits>;

export const identifyResult = z.object({
  player_id: z.uuid(),
  created: z.boolean(),
  merged_player_ids: z.array(z.uuid()),
  conflict: z.boolean(),
  ignored: z
    .array(z.string())
    .optional()
    .describe(
      'With a client key: the ids and traits, such as traits.email, that were left out because user_hash is missing or wrong. Absent: nothing was',
    ),
});
export type IdentifyResult = z.infer<typeof identifyResult>;

nameSchemas({ IdentifyBody: identifyBody, IdentifyResult: identifyResult });
