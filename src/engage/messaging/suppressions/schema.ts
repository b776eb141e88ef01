import { z } from 'zod';
import { PAGE_QUERY } from '../../../http/keyset-page.ts';
import { nameSchemas } from '../../../http/schema-names.ts';
import { addressText } from '../../../players/address-text.ts';
import { CHANNELS } from '../../../tenants/config/channels.ts';

export const SUPPRESSION_REASONS = ['bounce', 'complaint', 'unsubscribe', 'manual'] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** Addresses are in an index, whose entries have at most 2,700 bytes. */
const MAX_ADDRESS = 600;
const address = addressText(3, MAX_ADDRESS).describe(
  'As players have it; case does not count, nor does the spelling of a telephone number',
);

/** `GET /v1/suppressions`. */
export const listSuppressionsQuery = z.strictObject({
  ...PAGE_QUERY,
  channel: z.enum(CHANNELS).optional(),
  reason: z.enum(SUPPRESSION_REASONS).optional(),
  address: address.optional().describe('Only this one'),
});
export type ListSuppressionsQuery = z.infer<typeof listSuppressionsQuery>;

/** `POST /v1/suppressions`. */
export const createSuppressionBody = z
  .strictObject({ channel: z.enum(CHANNELS), address })
  .refine((body) => body.channel !== 'email' || /^[^\s@]+@[^\s@]+$/.test(body.address), {
    path: ['address'],
    message: 'must be an email address',
  });
export type CreateSuppressionBody = z.infer<typeof createSuppressionBody>;

/** An address that gets no messages on a channel, in any project of the tenant. */
export const suppressionResource = z.object({
  id: z.uuid(),
  channel: z.enum(CHANNELS),
  address: z.string().describe('In lower case'),
  reason: z.enum(SUPPRESSION_REASONS).describe('The first one: later ones do not replace it'),
  created_at: z.iso.datetime(),
});

nameSchemas({ CreateSuppressionBody: createSuppressionBody, Suppression: suppressionResource });
