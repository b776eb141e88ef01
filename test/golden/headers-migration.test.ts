import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../../src/platform/ids.ts';
import { openEarlierSchema, type EarlierSchema } from './earlier-schema.ts';

/** The migration that takes the values of webhooks' headers out of the audit log. */
const SEALED = 100;

let earlier: EarlierSchema;
beforeAll(async () => {
  earlier = await openEarlierSchema(SEALED);
});
afterAll(() => earlier?.close());

it('the audit log keeps everything but the values of headers, and memberships are accepted', async () => {
  const { sql } = earlier;
  const tenant_id = newId();
  await sql`insert into tenants (tenant_id, name, base_currency, created_at) values (${tenant_id}, 'T', 'EUR', now())`;
  await sql`insert into memberships (tenant_id, user_id, role) values (${tenant_id}, 'u', 'owner')`;
  const graphOf = (headers: object | undefined) => ({
    start_node_id: 'b',
    nodes: [
      { id: 'b', type: 'call_webhook', url: 'https://example.com/', headers, next: 'e' },
      { id: 'a', type: 'call_webhook', url: 'https://example.com/', headers: {} },
      { id: 'e', type: 'end' },
    ],
  });
  const images = [
    { name: 'clear', graph: graphOf({ 'X-Own': 'one-secret', Authorization: '***' }) },
    { name: 'masked', graph: graphOf({ Authorization: '***' }) },
    { name: 'none', graph: graphOf(undefined) },
    { name: 'no graph' },
  ];
  let rows_written = 0;
  const write = (resource_type: string, before: object | null, after: object | null) => sql`
    insert into audit_log (tenant_id, audit_id, occurred_at, action, resource_type, resource_id, before, after, request_id)
    values (${tenant_id}, ${newId()}, now(), 'update', ${resource_type}, ${String(++rows_written).padStart(2, '0')},
      ${before && JSON.stringify(before)}::text::jsonb, ${after && JSON.stringify(after)}::text::jsonb, 'q')`;
  for (const image of images) {
    await write('journey', image, null);
    await write('journey', null, image);
  }
  await write('segment', { headers: 'kept' }, null);
  await earlier.upgrade();
  const rows = await sql<{ before: object | null; after: object | null }[]>`
    select before, after from audit_log where tenant_id = ${tenant_id} order by resource_id`;
  const [, ...rest] = JSON.parse(JSON.stringify(images)) as object[];
  const hidden = [{ name: 'clear', graph: graphOf({ 'X-Own': '***', Authorization: '***' }) }, ...rest];
  expect(rows).toEqual([
    ...hidden.flatMap((image) => [
      { before: image, after: null },
      { before: null, after: image },
    ]),
    { before: { headers: 'kept' }, after: null },
  ]);
  const [member] = await sql<{ accepted: boolean }[]>`
    select accepted_at is not null as accepted from memberships where tenant_id = ${tenant_id}`;
  expect(member).toEqual({ accepted: true });
});
