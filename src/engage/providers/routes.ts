import { z } from 'zod';
import type { SessionPrincipal } from '../../auth/session.ts';
import { validationError } from '../../errors.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { readPage, TIME_AND_ID } from '../../http/keyset-page.ts';
import { refuseUnwritable } from '../../http/not-writable.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Listed, TimePosition } from '../../platform/postgres/keyset.ts';
import { changeProvider, createProvider, deleteProvider, type ChangeDeps } from './change.ts';
import { providerResourceOf, sandboxMessageOf } from './provider-json.ts';
import { listProviders, type ProviderRef, type ProviderRow } from './queries.ts';
import { findProvider } from './read.ts';
import { listMessages, type SandboxMessageRow } from './sandbox-queries.ts';
import {
  COMPUTED_FIELDS,
  createProviderBody,
  FIXED_FIELDS,
  listMessagesQuery,
  listProvidersQuery,
  patchProviderBody,
  providerResource,
  sandboxMessageResource,
  type ListMessagesQuery,
  type ListProvidersQuery,
} from './schema.ts';

const read = { mode: 'session', role: 'viewer', scope: 'tenant' } as const;
const write = { mode: 'session', role: 'admin', scope: 'tenant' } as const;

/** Those who carry messages to players; secrets go in and never come back. */
export function messagingProviderEndpoints(deps: ChangeDeps): AnyEndpoint[] {
  const one = { path: '/v1/messaging-providers/:id', status: 200, response: providerResource } as const;
  return [
    endpoint({
      method: 'GET',
      path: '/v1/messaging-providers',
      summary: 'Lists messaging providers that are not deleted, the newest first',
      access: read,
      query: listProvidersQuery,
      status: 200,
      response: z.array(providerResource),
      shape: 'list',
      errors: [],
      handle: ({ caller, query }) => providerPage(deps, caller.tenant_id, query),
    }),
    endpoint({
      ...one,
      method: 'GET',
      summary: 'One messaging provider, also a deleted one',
      access: read,
      errors: ['PROVIDER_NOT_FOUND'],
      handle: async ({ caller, params }) =>
        envelope(providerResourceOf(await findProvider(deps.postgres, refOf(caller, params)))),
    }),
    endpoint({
      method: 'POST',
      path: '/v1/messaging-providers',
      summary:
        'Makes a messaging provider; without a kind it is a sandbox, which keeps messages instead of sending them',
      access: write,
      body: createProviderBody,
      refuse: refuseUnwritable(COMPUTED_FIELDS),
      status: 201,
      response: providerResource,
      errors: ['FIELD_NOT_WRITABLE'],
      handle: async ({ caller, body }) =>
        envelope(providerResourceOf(await createProvider(deps, caller.tenant_id, body))),
    }),
    endpoint({
      ...one,
      method: 'PATCH',
      summary: 'Changes a messaging provider; what `config` does not name is kept',
      access: write,
      body: patchProviderBody,
      refuse: refuseUnwritable(FIXED_FIELDS),
      errors: ['PROVIDER_NOT_FOUND', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, params, body }) =>
        envelope(providerResourceOf(await changeProvider(deps, refOf(caller, params), body))),
    }),
    endpoint({
      ...one,
      method: 'DELETE',
      summary: 'Soft delete: it sends nothing from now on, and its secrets are gone',
      access: write,
      errors: ['PROVIDER_NOT_FOUND'],
      handle: async ({ caller, params }) =>
        envelope(providerResourceOf(await deleteProvider(deps, refOf(caller, params)))),
    }),
    messagesEndpoint(deps),
  ];
}

function messagesEndpoint(deps: ChangeDeps): AnyEndpoint {
  return endpoint({
    method: 'GET',
    path: '/v1/messaging-providers/:id/messages',
    summary: 'What a sandbox was given to send, the newest first',
    access: read,
    query: listMessagesQuery,
    status: 200,
    response: z.array(sandboxMessageResource),
    shape: 'list',
    errors: ['PROVIDER_NOT_FOUND'],
    handle: ({ caller, params, query }) => messagePage(deps, refOf(caller, params), query),
  });
}

function refOf({ tenant_id }: SessionPrincipal, params: Readonly<Record<string, string>>): ProviderRef {
  return { tenant_id, provider_id: params['id'] ?? '' };
}

async function providerPage(
  { postgres }: ChangeDeps,
  tenant_id: string,
  { cursor, limit, ...filters }: ListProvidersQuery,
): Promise<string> {
  const { rows, next_cursor } = await readPage<Listed<ProviderRow>, TimePosition>(
    {
      // A tenant's list: the tenant stands where others have their project.
      scope: { kind: 'messaging-providers', project_id: tenant_id, filters },
      shape: TIME_AND_ID,
      positionOf: (row) => [String(row.created_us), row.provider_id],
      select: (after, count) =>
        postgres.readAsTenant(tenant_id, (tx) => listProviders(tx, tenant_id, filters, after, count)),
    },
    { cursor, limit },
  );
  return envelope(rows.map(providerResourceOf), { next_cursor });
}

async function messagePage(
  { postgres }: ChangeDeps,
  ref: ProviderRef,
  { cursor, limit, ...filters }: ListMessagesQuery,
): Promise<string> {
  const { kind } = await findProvider(postgres, ref);
  if (kind !== 'sandbox') {
    throw validationError([{ path: 'id', message: `must be a sandbox: what ${kind} was given is not kept` }]);
  }
  const bound = { ...filters, provider_id: ref.provider_id };
  const { rows, next_cursor } = await readPage<SandboxMessageRow, readonly [string]>(
    {
      scope: { kind: 'sandbox-messages', project_id: ref.tenant_id, filters: bound },
      shape: [isUuid],
      positionOf: (row) => [row.message_id],
      select: (after, count) =>
        postgres.readAsTenant(ref.tenant_id, (tx) => listMessages(tx, ref, filters, after?.[0], count)),
    },
    { cursor, limit },
  );
  return envelope(rows.map(sandboxMessageOf), { next_cursor });
}
