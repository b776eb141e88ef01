-- How many dead letters about duplicates with other details a project got on a UTC day. A feed that stamps its retries
-- anew must not fill the dead letters.
create table duplicate_letters (
  tenant_id uuid not null,
  project_id uuid not null,
  day date not null,
  letters integer not null,
  primary key (tenant_id, project_id, day)
);
call protect_tenant_table('duplicate_letters');
