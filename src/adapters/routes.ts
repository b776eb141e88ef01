import { z } from 'zod';
import { validationError } from '../errors.ts';
import { endpoint, type AnyEndpoint } from '../http/endpoint.ts';
import { envelope } from '../http/envelope.ts';
import { listOf, PAGE_QUERY, type PageQuery } from '../http/keyset-page.ts';
import { refuseUnwritable } from '../http/json-body.ts';
import { refOf } from '../http/record.ts';
import { isUuid } from '../platform/ids.ts';
import type { Postgres } from '../platform/postgres/port.ts';
import { adapterResourceOf, sandboxBonusOf } from './adapter-json.ts';
import { changeAdapter, createAdapter, rotateSecret, type ChangeDeps, type WithSecret } from './change.ts';
import { SANDBOX_SLUG } from './platform.ts';
import { listAdapters } from './queries.ts';
import { ADAPTER, findAdapter } from './read.ts';
import { listBonuses, type SandboxRef } from './sandbox-queries.ts';
import {
  adapterResource,
  adapterWithSecret,
  COMPUTED_FIELDS,
  createAdapterBody,
  FIXED_FIELDS,
  patchAdapterBody,
  sandboxBonusResource,
} from './schema.ts';

const admin = { mode: 'session', role: 'admin', scope: 'project' } as const;

/** The registry of casino platforms, and what sandboxes were given (bonuses part 9). */
export function adapterEndpoints(deps: ChangeDeps): AnyEndpoint[] {
  return [...readingEndpoints(deps), ...changingEndpoints(deps)];
}

const withSecret = ({ row, secret }: WithSecret) => envelope({ ...adapterResourceOf(row), secret });

function changingEndpoints(deps: ChangeDeps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/adapters',
      summary: 'Creates an adapter to a casino platform; only this response shows its secret',
      access: admin,
      audit: { resource: 'adapter', action: 'create' },
      body: createAdapterBody,
      refuse: refuseUnwritable(COMPUTED_FIELDS),
      status: 201,
      response: adapterWithSecret,
      errors: ['ADAPTER_SLUG_TAKEN', 'ADAPTER_ALREADY_ACTIVE', 'CONFLICT', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller: { tenant_id, project_id }, body, audit }) =>
        withSecret(await createAdapter({ ...deps, audit }, { tenant_id, project_id }, body)),
    }),
    endpoint({
      method: 'PATCH',
      path: '/v1/adapters/:id',
      versioned: true,
      summary:
        'Changes an adapter; capabilities that are not named are kept, and at most one adapter of a project is active',
      access: admin,
      audit: { resource: 'adapter', action: 'update' },
      body: patchAdapterBody,
      refuse: refuseUnwritable(FIXED_FIELDS),
      response: adapterResource,
      errors: ['ADAPTER_NOT_FOUND', 'ADAPTER_ALREADY_ACTIVE', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, params, body, audit, sendVersion }) => {
        const changed = await changeAdapter({ ...deps, audit }, refOf(ADAPTER, caller, params['id']), body);
        const shown = adapterResourceOf(changed);
        sendVersion(shown);
        return envelope(shown);
      },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/adapters/:id/rotate-secret',
      summary:
        'Creates a new secret, which signs from now on; the previous one is accepted for 24 more hours',
      access: admin,
      audit: { resource: 'adapter', action: 'rotate_secret' },
      response: adapterWithSecret,
      errors: ['ADAPTER_NOT_FOUND', 'CONFLICT'],
      handle: async ({ caller, params, audit }) =>
        withSecret(await rotateSecret({ ...deps, audit }, refOf(ADAPTER, caller, params['id']))),
    }),
  ];
}

function readingEndpoints({ postgres }: ChangeDeps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/adapters',
      summary: 'Lists the adapters to casino platforms, the newest first',
      access: admin,
      query: z.strictObject(PAGE_QUERY),
      response: z.array(adapterResource),
      shape: 'list',
      handle: ({ caller, query }) =>
        listOf(postgres, caller, query, {
          kind: 'adapters',
          select: (tx, after, limit) => listAdapters(tx, caller, after, limit),
          positionOf: (row) => [row.created_us, row.adapter_id],
          show: adapterResourceOf,
        }),
    }),
    endpoint({
      method: 'GET',
      path: '/v1/adapters/:id',
      summary: 'One adapter',
      versioned: true,
      access: admin,
      response: adapterResource,
      errors: ['ADAPTER_NOT_FOUND'],
      handle: async ({ caller, params, sendVersion }) => {
        const shown = adapterResourceOf(await findAdapter(postgres, refOf(ADAPTER, caller, params['id'])));
        sendVersion(shown);
        return envelope(shown);
      },
    }),
    endpoint({
      method: 'GET',
      path: '/v1/adapters/:id/bonuses',
      summary:
        'The bonuses that a sandbox received, the newest first; the id `sandbox` names the built-in one',
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      query: z.strictObject(PAGE_QUERY),
      response: z.array(sandboxBonusResource),
      shape: 'list',
      errors: ['ADAPTER_NOT_FOUND'],
      handle: async ({ caller, params, query }) => {
        const { tenant_id, project_id } = caller;
        if (params['id'] === SANDBOX_SLUG)
          return bonusPage(postgres, { tenant_id, project_id, adapter_slug: SANDBOX_SLUG }, query);
        const { kind, slug } = await findAdapter(postgres, refOf(ADAPTER, caller, params['id']));
        if (kind !== 'sandbox')
          throw validationError([
            { path: 'id', message: `must be a sandbox: what ${slug} was given is not kept` },
          ]);
        return bonusPage(postgres, { tenant_id, project_id, adapter_slug: slug }, query);
      },
    }),
  ];
}

function bonusPage(postgres: Postgres, sandbox: SandboxRef, query: PageQuery): Promise<string> {
  return listOf(postgres, sandbox, query, {
    kind: 'sandbox-bonuses',
    bound: { adapter_slug: sandbox.adapter_slug },
    shape: [isUuid],
    select: (tx, after, limit) => listBonuses(tx, sandbox, after?.[0], limit),
    positionOf: (row) => [row.platform_bonus_id],
    show: sandboxBonusOf,
  });
}
