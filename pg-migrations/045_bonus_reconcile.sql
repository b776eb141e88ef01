-- Comparing bonus grants with their platforms: the grants of one platform after each other, and how far that came.

create index bonus_grants_live_of_platform on bonus_grants (adapter_slug, tenant_id, project_id, grant_id)
  where status in ('pending', 'active');

-- A comparison that was not finished: it goes on behind this grant. No row: the next one begins with the first grant.
create table bonus_reconcile_positions (
  tenant_id uuid not null,
  project_id uuid not null,
  adapter_slug text not null,
  after_grant_id uuid not null,
  primary key (tenant_id, project_id, adapter_slug)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
call protect_tenant_table('bonus_reconcile_positions');
