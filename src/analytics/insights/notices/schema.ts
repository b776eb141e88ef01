import { z } from 'zod';
import { nameSchemas, trimmedText } from '../../../http/field-schemas.ts';

/** Receivers of an alert or report. */
export const MAX_RECEIVERS = 10;

/** Who gets a notice: a member by email, or a system by a signed webhook. */
const receiver = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('email'),
    user_id: z
      .string()
      .min(1)
      .max(255)
      .describe('A member of the tenant: nothing is sent after the member has left'),
    address: trimmedText(3, 320).describe("The member's address"),
  }),
  z.strictObject({
    kind: z.literal('webhook'),
    url: trimmedText(1, 2_000).describe('Begins with https://; private addresses are refused'),
  }),
]);
export type Receiver = z.infer<typeof receiver>;

export const receiversSchema = z.array(receiver).min(1).max(MAX_RECEIVERS);

/** A receiver as it is stored. */
export const shownReceiver = z.union([
  z.object({ kind: z.literal('email'), user_id: z.string(), address: z.string() }),
  z.object({ kind: z.literal('webhook'), url: z.string() }),
]);

nameSchemas({ NoticeReceiver: receiver, ShownReceiver: shownReceiver });
