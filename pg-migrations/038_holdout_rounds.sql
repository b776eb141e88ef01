-- Every share that a project has held out, so that the rounds that are over can still be read. A round is a share within a
-- quarter of a year.
create table global_holdout_shares (
  tenant_id uuid not null,
  project_id uuid not null,
  -- The number of the change, as in global_holdouts.
  changes integer not null,
  holdout_percent double precision not null check (holdout_percent between 0 and 10),
  changed_at timestamptz not null,
  foreign key (tenant_id, project_id) references projects,
  primary key (tenant_id, project_id, changes)
);
call protect_tenant_table('global_holdout_shares');

-- What was before the last change is not known.
alter table global_holdouts no force row level security;
insert into global_holdout_shares (tenant_id, project_id, changes, holdout_percent, changed_at)
select tenant_id, project_id, changes, holdout_percent, changed_at from global_holdouts;
alter table global_holdouts force row level security;

-- What was said about a round, too: the experiment is the project then. Empty: of a campaign or a bonus campaign.
alter table effect_reports add column round text not null default '';
alter table effect_reports drop constraint effect_reports_pkey;
alter table effect_reports add primary key (tenant_id, project_id, experiment_id, round);
