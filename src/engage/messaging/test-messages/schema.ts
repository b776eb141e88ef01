import { z } from 'zod';
import { nameSchemas, trimmedText } from '../../../http/field-schemas.ts';
import { plainAddress } from '../../../players/address-text.ts';
import { CHANNELS } from '../../../tenants/config/channels.ts';

/** `POST /v1/templates/:id/send-test`. The message goes to `recipient`; the player only fills the template. */
export const sendTestBody = z.strictObject({
  recipient: trimmedText(1, 4_096, plainAddress),
  player_id: z.uuid().nullable().optional(),
  provider_id: z.uuid().nullable().optional(),
});
export type SendTestBody = z.infer<typeof sendTestBody>;

const timestamp = z.iso.datetime();

/** The result of a test; `error_code` as in a send row. */
export const sendTestResult = z.object({
  recipient: z.string(),
  channel: z.enum(CHANNELS),
  template_id: z.uuid(),
  provider_id: z.uuid(),
  player_id: z.uuid().nullable(),
  status: z.enum(['sent', 'failed']),
  error_code: z.string().nullable(),
  provider_message_id: z.string().nullable(),
  sent_at: timestamp.nullable(),
});

nameSchemas({ SendTestBody: sendTestBody, SendTestResult: sendTestResult });
