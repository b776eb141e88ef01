import { z } from 'zod';
import { sessionId } from '../../http/auth/browser-session.ts';
import type { ListedSession, SessionScope } from '../../http/auth/console-session-queries.ts';
import { listedIdOf, type ConsoleSessions } from '../../http/auth/console-sessions.ts';
import { roleAllows } from '../../http/auth/roles.ts';
import type { SessionPrincipal } from '../../http/auth/session.ts';
import { ApiError } from '../../errors.ts';
import type { AuditChange } from '../../http/audit.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { readPage, PAGE_QUERY } from '../../http/keyset-page.ts';
import { nameSchemas } from '../../http/field-schemas.ts';

/** `GET /v1/console-sessions`. */
const listSessionsQuery = z.strictObject({
  ...PAGE_QUERY,
  of: z
    .enum(['own', 'members'])
    .default('own')
    .describe('`members`: of members of no other tenant, too; for admins'),
});
type ListSessionsQuery = z.infer<typeof listSessionsQuery>;

/** A session of the console that has not ended. */
const consoleSessionResource = z.object({
  id: z.string().describe('A hash: it names the session and opens nothing'),
  user_id: z.string(),
  display_name: z.string().nullable(),
  created_at: z.iso.datetime(),
  last_seen_at: z.iso.datetime().describe('To the minute'),
  expires_at: z.iso.datetime(),
  is_current: z.boolean().describe('Whether it is the one that asks'),
});

/** `DELETE /v1/console-sessions/:id`. */
const endedSession = z.object({ id: z.string(), ended: z.literal(true) });

nameSchemas({ ConsoleSession: consoleSessionResource, EndedConsoleSession: endedSession });

const LISTED_ID = /^[0-9a-f]{64}$/;

/** Who is signed in to the console. */
export function consoleSessionEndpoints({
  console_sessions,
}: {
  console_sessions: ConsoleSessions;
}): AnyEndpoint[] {
  const access = { mode: 'session', role: 'viewer', scope: 'tenant' } as const;
  return [
    endpoint({
      method: 'GET',
      path: '/v1/console-sessions',
      summary:
        'Lists the console sessions of the user, for admins also those of members of no other tenant, the newest first',
      access,
      query: listSessionsQuery,
      response: z.array(consoleSessionResource),
      shape: 'list',
      handle: ({ caller, query, headers }) =>
        sessionPage(console_sessions, caller, query, sessionId(headers.cookie)),
    }),
    endpoint({
      method: 'DELETE',
      path: '/v1/console-sessions/:id',
      summary: 'Ends a console session of the user, for admins also of a member of no other tenant',
      audit: { resource: 'console_session', action: 'delete' },
      access,
      response: endedSession,
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params, audit }) => {
        const { id = '' } = params;
        await endSession(console_sessions, caller, id, audit);
        return envelope({ id, ended: true });
      },
    }),
  ];
}

function isAdmin({ role }: SessionPrincipal): boolean {
  return roleAllows(role, 'admin');
}

async function sessionPage(
  sessions: ConsoleSessions,
  caller: SessionPrincipal,
  { of, cursor, limit }: ListSessionsQuery,
  current: string | undefined,
): Promise<string> {
  const { user_id, tenant_id } = caller;
  if (of === 'members' && !isAdmin(caller)) {
    throw new ApiError('FORBIDDEN', 'the sessions of other members are for admins: omit `of`');
  }
  const scope: SessionScope = { user_id, of_members_of: of === 'members' ? tenant_id : null };
  const { rows, next_cursor } = await readPage<ListedSession, readonly [string, string]>(
    {
      scope: { kind: 'console-sessions', project_id: tenant_id, filters: { of, user_id } },
      shape: [(text) => /^-?\d{1,17}$/.test(text), (text) => LISTED_ID.test(text)],
      positionOf: (row) => [String(row.created_us), row.id],
      select: (after, count) => sessions.list(scope, after, count),
    },
    { cursor, limit },
  );
  const own = current === undefined ? undefined : listedIdOf(current);
  const shown = rows.map(({ created_us: _position, ...row }) => ({ ...row, is_current: row.id === own }));
  return envelope(shown, { next_cursor });
}

/** Rejects with NOT_FOUND when the caller has no such session, and as an admin no member has. */
async function endSession(
  sessions: ConsoleSessions,
  caller: SessionPrincipal,
  id: string,
  audit: AuditChange,
): Promise<void> {
  const { user_id, tenant_id } = caller;
  const scope: SessionScope = { user_id, of_members_of: isAdmin(caller) ? tenant_id : null };
  const has_ended =
    LISTED_ID.test(id) &&
    (await sessions.endListed(scope, id, (tx, { user_id: of, created_at }) =>
      audit(tx, {
        tenant_id,
        project_id: null,
        resource_id: id,
        before: { id, user_id: of, created_at },
        after: null,
      }),
    ));
  if (!has_ended) throw new ApiError('NOT_FOUND', `console session ${id.slice(0, 64)} does not exist`);
}
