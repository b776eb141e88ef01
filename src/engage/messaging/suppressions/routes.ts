import { z } from 'zod';
import type { Auditing } from '../../../http/audit.ts';
import { endpoint, type AnyEndpoint } from '../../../http/endpoint.ts';
import { envelope } from '../../../http/envelope.ts';
import { listOf } from '../../../http/keyset-page.ts';
import { refOf, requireRow, type RecordKind, type RecordRef } from '../../../http/record.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Postgres } from '../../../platform/postgres/port.ts';
import { suppress } from '../suppression-queries.ts';
import { deleteSuppression, findSuppression, listSuppressions, type SuppressionRow } from './queries.ts';
import {
  createSuppressionBody,
  listSuppressionsQuery,
  suppressionResource,
  type CreateSuppressionBody,
  type ListSuppressionsQuery,
} from './schema.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
}

const SUPPRESSION: RecordKind<'tenant', 'suppression_id'> = {
  scope: 'tenant',
  noun: 'suppression',
  id: 'suppression_id',
  not_found: 'NOT_FOUND',
};

/** Addresses that get no messages on a channel: by bounces, complaints and unsubscriptions, and those entered here. */
export function suppressionEndpoints(deps: Deps): AnyEndpoint[] {
  const path = '/v1/suppressions';
  return [
    endpoint({
      method: 'GET',
      path,
      summary: 'Lists the addresses that get no messages, the newest first',
      access: { mode: 'session', role: 'editor', scope: 'tenant' },
      query: listSuppressionsQuery,
      response: z.array(suppressionResource),
      shape: 'list',
      handle: ({ caller, query }) => suppressionPage(deps, caller.tenant_id, query),
    }),
    endpoint({
      method: 'POST',
      path,
      summary:
        'Suppresses an address on a channel: from now on it gets no messages in any project of the tenant',
      audit: { resource: 'suppression', action: 'create' },
      access: { mode: 'session', role: 'editor', scope: 'tenant' },
      body: createSuppressionBody,
      status: 201,
      response: suppressionResource,
      handle: async ({ caller, body, audit }) =>
        envelope(resourceOf(await createSuppression({ ...deps, audit }, caller.tenant_id, body))),
    }),
    endpoint({
      method: 'DELETE',
      path: `${path}/:id`,
      summary: 'Removes a suppression; the consent of players still counts',
      audit: { resource: 'suppression', action: 'delete' },
      access: { mode: 'session', role: 'admin', scope: 'tenant' },
      response: suppressionResource,
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params, audit }) =>
        envelope(
          resourceOf(await removeSuppression({ ...deps, audit }, refOf(SUPPRESSION, caller, params['id']))),
        ),
    }),
  ];
}

function resourceOf({ suppression_id: id, channel, address, reason, created_at }: SuppressionRow) {
  return { id, channel, address, reason, created_at };
}

/** As the audit log shows it, which is kept for ever: with the beginning of the address only. */
function imageOf({ suppression_id: id, channel, address, reason }: SuppressionRow) {
  return { id, channel, address: `${address.slice(0, 2)}…`, reason };
}

function suppressionPage(
  { postgres }: Deps,
  tenant_id: string,
  query: ListSuppressionsQuery,
): Promise<string> {
  return listOf(postgres, { tenant_id }, query, {
    kind: 'suppressions',
    select: (tx, after, limit, filters) => listSuppressions(tx, tenant_id, filters, after, limit),
    positionOf: (row) => [row.created_us, row.suppression_id],
    show: resourceOf,
  });
}

/** Idempotent: an address that is suppressed already stays so, with its first reason. */
async function createSuppression(
  { postgres, clock, audit }: Deps & Auditing,
  tenant_id: string,
  body: CreateSuppressionBody,
): Promise<SuppressionRow> {
  return postgres.asTenant(tenant_id, async (tx) => {
    const which = { tenant_id, ...body };
    const is_new = await suppress(tx, which, 'manual', new Date(clock.now_ms()));
    const row = requireRow(SUPPRESSION, { suppression_id: body.channel }, await findSuppression(tx, which));
    const side = imageOf(row);
    const { suppression_id: resource_id } = row;
    await audit(tx, { tenant_id, project_id: null, resource_id, before: is_new ? null : side, after: side });
    return row;
  });
}

/** Rejects with NOT_FOUND. */
async function removeSuppression(
  { postgres, audit }: Deps & Auditing,
  ref: RecordRef<'tenant', 'suppression_id'>,
): Promise<SuppressionRow> {
  const { tenant_id, suppression_id: resource_id } = ref;
  return postgres.asTenant(tenant_id, async (tx) => {
    const row = requireRow(SUPPRESSION, ref, await deleteSuppression(tx, ref));
    await audit(tx, { tenant_id, project_id: null, resource_id, before: imageOf(row), after: null });
    return row;
  });
}
