-- The tenant of a transaction is read once per statement instead of once per row. A subquery that depends on no row is
-- executed when its value is first needed, so a statement may set the tenant before it reads the first row.
create or replace procedure protect_tenant_table(target regclass)
  language plpgsql as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format('create policy own_tenant on %s to engagement_api using (tenant_id = (select current_tenant_id()))', target);
  execute format('create policy every_tenant on %s to engagement_service using (true)', target);
  execute format('grant select, insert, update, delete on %s to engagement_api, engagement_service', target);
end $$;

do $$
declare
  target regclass;
begin
  for target in
    select p.polrelid::regclass from pg_policy p
    join pg_class c on c.oid = p.polrelid
    where p.polname = 'own_tenant' and c.relnamespace = 'public'::regnamespace
    order by c.relname
  loop
    execute format('alter policy own_tenant on %s using (tenant_id = (select current_tenant_id()))', target);
  end loop;
end $$;
