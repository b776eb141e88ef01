import { z } from 'zod';
import { PAGE_QUERY } from '../../http/keyset-page.ts';
import { nameSchemas } from '../../http/schema-names.ts';

/** `GET /v1/console-sessions`. */
export const listSessionsQuery = z.strictObject({
  ...PAGE_QUERY,
  of: z
    .enum(['own', 'members'])
    .default('own')
    .describe('`members`: of all members of the tenant, for admins'),
});
export type ListSessionsQuery = z.infer<typeof listSessionsQuery>;

/** A session of the console that has not ended. */
export const consoleSessionResource = z.object({
  id: z.string().describe('A hash: it names the session and opens nothing'),
  user_id: z.string(),
  display_name: z.string().nullable(),
  created_at: z.iso.datetime(),
  last_seen_at: z.iso.datetime().describe('To the minute'),
  expires_at: z.iso.datetime(),
  is_current: z.boolean().describe('Whether it is the one that asks'),
});

/** `DELETE /v1/console-sessions/:id`. */
export const endedSession = z.object({ id: z.string(), ended: z.literal(true) });

nameSchemas({ ConsoleSession: consoleSessionResource, EndedConsoleSession: endedSession });
