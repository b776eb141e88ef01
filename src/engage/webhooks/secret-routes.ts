import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { listOf, PAGE_QUERY } from '../../http/keyset-page.ts';
import { refOf } from '../../http/record.ts';
import type { Clock } from '../../platform/clock.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { listSecrets } from './secret-queries.ts';
import { createSecret, deleteSecret, secretResourceOf, WEBHOOK_SECRET } from './secrets.ts';

const admin = { mode: 'session', role: 'admin', scope: 'project' } as const;

const secretResource = z.object({
  id: z.uuid(),
  created_at: z.iso.datetime(),
  deleted_at: z.iso.datetime().nullable(),
});
const createdSecret = z.object({ id: z.uuid(), secret: z.string(), created_at: z.iso.datetime() });
nameSchemas({ WebhookSecret: secretResource, CreatedWebhookSecret: createdSecret });

/** The secrets that sign the webhooks of a project. */
export function webhookSecretEndpoints(deps: {
  postgres: Postgres;
  clock: Clock;
  credentials_keys: EncryptionKeys;
}): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/webhook-secrets',
      summary: 'Lists the secrets of webhooks, the newest first; the newest one signs',
      access: admin,
      query: z.strictObject(PAGE_QUERY),
      response: z.array(secretResource),
      shape: 'list',
      handle: ({ caller, query }) =>
        listOf(deps.postgres, caller, query, {
          kind: 'webhook-secrets',
          select: (tx, after, limit) => listSecrets(tx, caller, after, limit),
          positionOf: (row) => [row.created_us, row.secret_id],
          show: secretResourceOf,
        }),
    }),
    endpoint({
      method: 'POST',
      path: '/v1/webhook-secrets',
      summary: 'Creates a secret, which signs webhooks from now on; only this response shows it',
      audit: { resource: 'webhook_secret', action: 'create' },
      access: admin,
      status: 201,
      response: createdSecret,
      errors: ['CONFLICT'],
      handle: async ({ caller: { tenant_id, project_id }, audit }) =>
        envelope(await createSecret({ ...deps, audit }, { tenant_id, project_id })),
    }),
    endpoint({
      method: 'DELETE',
      path: '/v1/webhook-secrets/:id',
      summary: 'Deletes a secret: it signs nothing from now on',
      audit: { resource: 'webhook_secret', action: 'delete' },
      access: admin,
      response: secretResource,
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params, audit }) =>
        envelope(
          secretResourceOf(
            await deleteSecret({ ...deps, audit }, refOf(WEBHOOK_SECRET, caller, params['id'])),
          ),
        ),
    }),
  ];
}
