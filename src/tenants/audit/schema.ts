import { z } from 'zod';
import { PAGE_QUERY } from '../../http/keyset-page.ts';
import { nameSchemas, timestampWithOffset } from '../../http/field-schemas.ts';
import { ROLES } from '../../http/auth/roles.ts';
import { AUDITED_ACTIONS, AUDITED_RESOURCES } from '../../http/audit.ts';
import type { AuditRow } from './queries.ts';
import { parseExact } from '../../platform/exact-json.ts';

const text = z
  .string()
  .min(1)
  .max(255)
  .refine((value) => !value.includes('\0'), 'must not contain NUL');

/** `GET /v1/audit-log`. */
export const auditLogQuery = z
  .strictObject({
    ...PAGE_QUERY,
    user_id: text.describe('Whose changes').optional(),
    action: z.enum(AUDITED_ACTIONS).optional(),
    resource_type: z.enum(AUDITED_RESOURCES).optional(),
    resource_id: text.optional(),
    project_id: z.guid().optional(),
    from: timestampWithOffset.describe('Changes at this time or later').optional(),
    to: timestampWithOffset.describe('Changes before this time').optional(),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || Date.parse(from) <= Date.parse(to), {
    path: ['from'],
    message: 'must not be after `to`',
  });

const side = z.record(z.string(), z.unknown()).nullable();

/** One change. When the resource exists before and after, `before` and `after` have only the fields that differ. */
export const auditLogEntry = z.object({
  id: z.uuid(),
  occurred_at: z.iso.datetime(),
  actor: z.union([
    z.object({ kind: z.literal('session'), user_id: z.string(), role: z.enum(ROLES) }),
    z.object({ kind: z.literal('internal') }),
  ]),
  project_id: z.uuid().nullable().describe('Null: the resource is of the tenant'),
  action: z.enum(AUDITED_ACTIONS),
  resource_type: z.enum(AUDITED_RESOURCES),
  resource_id: z.string(),
  before: side,
  after: side,
  request_id: z.string().describe('The X-Request-Id of the answer'),
});

nameSchemas({ AuditLogEntry: auditLogEntry });

/** A row of the audit log as lists show it. */
export function entryOf(row: AuditRow): z.infer<typeof auditLogEntry> {
  const { user_id, role } = row;
  const actor =
    user_id === null || role === null
      ? ({ kind: 'internal' } as const)
      : ({ kind: 'session', user_id, role } as const);
  return {
    id: row.audit_id,
    occurred_at: row.occurred_at.toISOString(),
    actor,
    project_id: row.project_id,
    action: row.action,
    resource_type: row.resource_type,
    resource_id: row.resource_id,
    before: sideOf(row.before),
    after: sideOf(row.after),
    request_id: row.request_id,
  };
}

function sideOf(text: string | null): Record<string, unknown> | null {
  return text === null ? null : (parseExact(text) as Record<string, unknown>);
}
