import type { Db } from '../../src/platform/postgres/port.ts';

const SCHEMAS = ['public', 'event_log'];

/** The schema as text, read from the catalogue in an order that depends on names only. */
export async function describePostgres(sql: Db): Promise<string> {
  const parts = [
    ...(await describeTypes(sql)),
    ...(await describeRoutines(sql)),
    ...(await describeTables(sql)),
  ];
  return `-- The schema that the migrations result in. Made by a test: UPDATE_GOLDEN=1 writes it anew.\n\n${parts.join('\n\n')}\n`;
}

async function describeTypes(sql: Db): Promise<string[]> {
  const rows = await sql<{ text: string }[]>`
    select format('create type %s as enum (%s);', t.oid::regtype,
      string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder)) as text
    from pg_type t
    join pg_enum e on e.enumtypid = t.oid
    where t.typnamespace::regnamespace::text = any(${SCHEMAS})
    group by t.oid order by 1`;
  return rows.map(({ text }) => text);
}

async function describeRoutines(sql: Db): Promise<string[]> {
  const rows = await sql<{ text: string }[]>`
    select pg_get_functiondef(oid) || ';' as text from pg_proc
    where pronamespace::regnamespace::text = any(${SCHEMAS})
    order by oid::regprocedure::text`;
  return rows.map(({ text }) => text.replaceAll(/\n+;$/g, ';'));
}

async function describeTables(sql: Db): Promise<string[]> {
  const tables = await sql<{ oid: number; name: string; options: string; secured: string }[]>`
    select c.oid, format('%s.%s', c.relnamespace::regnamespace, c.relname) as name,
      coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '') as options,
      concat_ws(', ', case when c.relrowsecurity then 'enabled' end,
        case when c.relforcerowsecurity then 'forced' end) as secured
    from pg_class c
    where c.relkind in ('r', 'p', 'v', 'm') and c.relnamespace::regnamespace::text = any(${SCHEMAS})
    order by 2`;
  return Promise.all(
    tables.map(async ({ oid, name, options, secured }) => {
      const lines = [...(await columnsOf(sql, oid)), ...(await constraintsOf(sql, oid))];
      return [
        `create table ${name} (\n${lines.map((line) => `  ${line}`).join(',\n')}\n)${options};`,
        ...(await indexesOf(sql, oid)),
        ...(secured === '' ? [] : [`-- row-level security of ${name}: ${secured}`]),
        ...(await policiesOf(sql, oid)),
        ...(await grantsOn(sql, oid, name)),
      ].join('\n');
    }),
  );
}

async function columnsOf(sql: Db, table: number): Promise<string[]> {
  const rows = await sql<{ text: string }[]>`
    select concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod),
      case when a.attnotnull then 'not null' end,
      case when a.attidentity <> '' then 'generated as identity' end,
      'default ' || pg_get_expr(d.adbin, d.adrelid)) as text
    from pg_attribute a
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = ${table} and a.attnum > 0 and not a.attisdropped
    order by a.attnum`;
  return rows.map(({ text }) => text);
}

/** Without the not-null constraints, which the columns show. */
async function constraintsOf(sql: Db, table: number): Promise<string[]> {
  const rows = await sql<{ text: string }[]>`
    select format('constraint %I %s', conname, pg_get_constraintdef(oid)) as text
    from pg_constraint where conrelid = ${table} and contype <> 'n' order by conname`;
  return rows.map(({ text }) => text);
}

async function indexesOf(sql: Db, table: number): Promise<string[]> {
  const rows = await sql<{ text: string }[]>`
    select pg_get_indexdef(indexrelid) || ';' as text
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = ${table} and not exists (select from pg_constraint where conindid = i.indexrelid and conrelid = ${table})
    order by c.relname`;
  return rows.map(({ text }) => text);
}

async function policiesOf(sql: Db, table: number): Promise<string[]> {
  const rows = await sql<{ text: string }[]>`
    select format('create policy %I on %s for %s to %s using (%s)%s;', polname, polrelid::regclass,
      case polcmd when '*' then 'all' else polcmd::text end,
      (select string_agg(rolname, ', ' order by rolname) from pg_roles where oid = any(polroles)),
      pg_get_expr(polqual, polrelid),
      coalesce(' with check (' || pg_get_expr(polwithcheck, polrelid) || ')', '')) as text
    from pg_policy where polrelid = ${table} order by polname`;
  return rows.map(({ text }) => text);
}

/** The privileges of roles other than the owner. */
async function grantsOn(sql: Db, table: number, name: string): Promise<string[]> {
  const rows = await sql<{ role: string; privileges: string }[]>`
    select r.rolname as role, lower(string_agg(g.privilege_type, ', ' order by g.privilege_type)) as privileges
    from pg_class c, aclexplode(c.relacl) g
    join pg_roles r on r.oid = g.grantee
    where c.oid = ${table} and g.grantee <> c.relowner
    group by r.rolname order by r.rolname`;
  return rows.map(({ role, privileges }) => `grant ${privileges} on ${name} to ${role};`);
}
