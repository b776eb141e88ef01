import { z } from 'zod';
import { validationError } from '../../errors.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { listOf } from '../../http/keyset-page.ts';
import { refOf } from '../../http/record.ts';
import { resourceEndpoints } from '../../http/resource-endpoints.ts';
import { isUuid } from '../../platform/ids.ts';
import { changeProvider, createProvider, deleteProvider, type ChangeDeps } from './change.ts';
import { providerResourceOf, sandboxMessageOf } from './provider-json.ts';
import { listProviders, type ProviderRef } from './queries.ts';
import { findProvider, PROVIDER } from './read.ts';
import { listMessages } from './sandbox-queries.ts';
import {
  COMPUTED_FIELDS,
  createProviderBody,
  FIXED_FIELDS,
  listMessagesQuery,
  patchProviderBody,
  PROVIDER_FILTERS,
  providerResource,
  sandboxMessageResource,
  type ListMessagesQuery,
} from './schema.ts';

/** Messaging providers: the services that deliver messages to players. Secrets are written and never returned. */
export function messagingProviderEndpoints(deps: ChangeDeps): AnyEndpoint[] {
  return [...ownEndpoints(deps), messagesEndpoint(deps)];
}

function ownEndpoints(deps: ChangeDeps): AnyEndpoint[] {
  return resourceEndpoints(deps, {
    collection: 'messaging-providers',
    kind: PROVIDER,
    audited: 'messaging_provider',
    writer: 'admin',
    response: providerResource,
    toJson: providerResourceOf,
    image: providerResourceOf,
    filters: PROVIDER_FILTERS,
    list: listProviders,
    find: ({ postgres }, ref) => findProvider(postgres, ref),
    create: {
      summary:
        'Creates a messaging provider; without a kind it is a sandbox, which keeps messages instead of sending them',
      body: createProviderBody,
      read_only: COMPUTED_FIELDS,
      run: createProvider,
    },
    change: {
      summary: 'Changes a messaging provider; fields that `config` does not name are kept',
      body: patchProviderBody,
      read_only: FIXED_FIELDS,
      run: changeProvider,
    },
    remove: {
      summary: 'Soft delete: it sends nothing from now on, and its secrets are deleted',
      run: deleteProvider,
    },
  });
}

function messagesEndpoint(deps: ChangeDeps): AnyEndpoint {
  return endpoint({
    method: 'GET',
    path: '/v1/messaging-providers/:id/messages',
    summary: 'The messages that a sandbox received, the newest first',
    access: { mode: 'session', role: 'viewer', scope: 'tenant' },
    query: listMessagesQuery,
    response: z.array(sandboxMessageResource),
    shape: 'list',
    errors: ['PROVIDER_NOT_FOUND'],
    handle: ({ caller, params, query }) => messagePage(deps, refOf(PROVIDER, caller, params['id']), query),
  });
}

async function messagePage(
  { postgres }: ChangeDeps,
  ref: ProviderRef,
  query: ListMessagesQuery,
): Promise<string> {
  const { kind } = await findProvider(postgres, ref);
  if (kind !== 'sandbox') {
    throw validationError([{ path: 'id', message: `must be a sandbox: what ${kind} was given is not kept` }]);
  }
  return listOf(postgres, ref, query, {
    kind: 'sandbox-messages',
    bound: { provider_id: ref.provider_id },
    shape: [isUuid],
    select: (tx, after, limit, filters) => listMessages(tx, ref, filters, after?.[0], limit),
    positionOf: (row) => [row.message_id],
    show: sandboxMessageOf,
  });
}
