-- Requests show the rows of the ledger of a player, which they look up by reference: the API role may read those of its
-- tenant's projects, whose numbers it reads under the same protection. Nothing else becomes readable.
create policy own_tenant on ledger for select to engagement_api
  using (project_no in (select p.project_no from projects p where p.tenant_id = (select current_tenant_id())));
grant select on ledger to engagement_api;
