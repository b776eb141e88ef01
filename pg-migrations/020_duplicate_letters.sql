-- How many dead letters about duplicates with other details a project got on a UTC day. A feed that stamps its retries
-- anew must not fill the dead letters. The key begins with the day, by which old rows are removed.
create table duplicate_letters (
  tenant_id uuid not null,
  project_id uuid not null,
  day date not null,
  letters integer not null,
  primary key (day, tenant_id, project_id)
);
call protect_tenant_table('duplicate_letters');
