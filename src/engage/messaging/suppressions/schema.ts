import { z } from 'zod';
import { PAGE_QUERY } from '../../../http/keyset-page.ts';
import { nameSchemas, trimmedText } from '../../../http/field-schemas.ts';
import { emailFault, emptyFault, phoneFault, plainAddress } from '../../../players/address-text.ts';
import { CHANNELS, type Channel } from '../../../tenants/config/channels.ts';

export const SUPPRESSION_REASONS = ['bounce', 'complaint', 'unsubscribe', 'manual'] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** Addresses are in an index, whose entries have at most 2,700 bytes. */
const MAX_ADDRESS = 600;
const address = trimmedText(3, MAX_ADDRESS, plainAddress).describe(
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

/** What is wrong with a text as an address of the channel. */
const FAULTS: Readonly<Record<Channel, (address: string) => string | undefined>> = {
  email: emailFault,
  sms: phoneFault,
  push: (address) => emptyFault('address', address),
};

/** `POST /v1/suppressions`. */
export const createSuppressionBody = z
  .strictObject({ channel: z.enum(CHANNELS), address })
  .refine(({ channel, address }) => FAULTS[channel](address) === undefined, {
    path: ['address'],
    error: ({ input }) => {
      const { channel, address } = input as { channel: Channel; address: string };
      return FAULTS[channel](address);
    },
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
