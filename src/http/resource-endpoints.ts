import { z } from 'zod';
import type { SessionPrincipal } from './auth/session.ts';
import type { Auditing } from './audit.ts';
import type { CursorScope } from './cursor.ts';
import { endpoint, type AnyEndpoint, type Call } from './endpoint.ts';
import { envelope } from './envelope.ts';
import { listOf, PAGE_QUERY, type PageQuery } from './keyset-page.ts';
import { refuseUnwritable } from './json-body.ts';
import { ownerOf, refOf, type OwnerOf, type RecordRef, type Scope } from './record.ts';
import type { Listing, Resource } from './resource.ts';
import { BODY_BYTES } from './server-options.ts';
import type { Platform } from '../platform/platform.ts';

type Deps = Pick<Platform, 'postgres' | 'clock'>;

/** The five endpoints of a resource: list, get, create, change (if it declares one), delete. */
export function resourceEndpoints<
  D extends Deps,
  const S extends Scope,
  const Id extends string,
  Row extends Readonly<Record<Id, string>>,
  Filters extends CursorScope['filters'],
  Create,
  Change,
>(deps: D, resource: Resource<D, S, Id, Row, Filters, Create, Change>): AnyEndpoint[] {
  const { collection, kind, response, audited, find, create, change, remove } = resource;
  const scope: Scope = kind.scope;
  const path = `/v1/${collection}`;
  const one = { path: `${path}/:id`, response };
  const access = { mode: 'session', role: resource.writer, scope } as const;
  const write = { access, max_body_bytes: resource.max_body_bytes ?? BODY_BYTES };
  const { byId, make } = handlersOf(deps, resource);
  const changing = [change]
    .filter((declared) => declared !== undefined)
    .map((declared) =>
      endpoint({
        ...write,
        ...one,
        method: 'PATCH',
        summary: declared.summary,
        audit: { resource: audited, action: 'update' },
        body: declared.body,
        refuse: refuseUnwritable(declared.read_only),
        versioned: true,
        errors: [kind.not_found, ...(declared.errors ?? []), 'FIELD_NOT_WRITABLE'],
        handle: byId(declared.run),
      }),
    );
  return [
    listEndpoint(deps, resource),
    endpoint({
      ...one,
      method: 'GET',
      access: { mode: 'session', role: 'viewer', scope },
      summary: `One ${kind.noun}, also a deleted one`,
      versioned: true,
      errors: [kind.not_found],
      handle: byId(find),
    }),
    endpoint({
      ...write,
      method: 'POST',
      path,
      summary: create.summary,
      audit: { resource: audited, action: 'create' },
      body: create.body,
      refuse: refuseUnwritable(create.read_only),
      versioned: true,
      status: 201,
      response,
      errors: [...(create.errors ?? []), 'FIELD_NOT_WRITABLE'],
      handle: make,
    }),
    ...changing,
    endpoint({
      ...write,
      ...one,
      method: 'DELETE',
      summary: remove.summary,
      audit: { resource: audited, action: 'delete' },
      errors: [kind.not_found, ...(remove.errors ?? [])],
      handle: byId(remove.run),
    }),
  ];
}

/** The handlers of its endpoints: of those that take an id, and of the one that creates. */
function handlersOf<
  D extends Deps,
  S extends Scope,
  Id extends string,
  Row extends Readonly<Record<Id, string>>,
  Filters,
  Create,
  Change,
>(deps: D, { kind, toJson, image, create }: Resource<D, S, Id, Row, Filters, Create, Change>) {
  const show = (row: Row, owner: OwnerOf<S>) => toJson(row, owner, deps.clock.now_ms());
  const byId =
    <Body>(run: (deps: D & Auditing, ref: RecordRef<S, Id>, body: Body) => Promise<Row>) =>
    async ({ caller, params, body, audit, sendVersion }: Call<SessionPrincipal, undefined, Body>) => {
      const ref = refOf(kind, caller, params['id']);
      const row = await run({ ...deps, audit }, ref, body);
      sendVersion(image(row, ref));
      return envelope(show(row, ref));
    };
  const make = async ({ caller, body, audit, sendVersion }: Call<SessionPrincipal, undefined, Create>) => {
    const owner = ownerOf(kind.scope, caller);
    const row = await create.run({ ...deps, audit }, owner, body);
    sendVersion(image(row, owner));
    return envelope(show(row, owner));
  };
  return { byId, make };
}

function listEndpoint<
  S extends Scope,
  Id extends string,
  Row extends Readonly<Record<Id, string>>,
  Filters extends CursorScope['filters'],
>({ postgres, clock }: Deps, listing: Listing<S, Id, Row, Filters>): AnyEndpoint {
  const { collection, kind, response, listed = response, toJson, list } = listing;
  return endpoint({
    method: 'GET',
    path: `/v1/${collection}`,
    summary: `Lists ${kind.noun}s that are not deleted, the newest first`,
    access: { mode: 'session', role: 'viewer', scope: kind.scope },
    query: z.strictObject({ ...PAGE_QUERY, ...listing.filters }),
    response: z.array(listed),
    shape: 'list',
    handle: ({ caller, query }) => {
      const owner = ownerOf(kind.scope, caller);
      const now_ms = clock.now_ms();
      return listOf(postgres, owner, query as PageQuery & Filters, {
        kind: collection,
        // By the schema above, all other query parameters are filters.
        select: (tx, after, limit, filters) => list(tx, owner, filters as unknown as Filters, after, limit),
        positionOf: (row) => [row.created_us, row[kind.id]],
        show: (row) => toJson(row, owner, now_ms),
      });
    },
  });
}
