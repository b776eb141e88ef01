-- Holdouts: players who get nothing, so that others can be compared with them.

-- The share of those who passed the gate that is held out, in percent.
alter table campaigns add column holdout_percent double precision not null default 0;
alter table campaigns add constraint campaigns_holdout_percent check (holdout_percent between 0 and 100) not valid;
alter table campaigns validate constraint campaigns_holdout_percent;
alter table bonus_campaigns add column holdout_percent double precision not null default 0;
alter table bonus_campaigns add constraint bonus_campaigns_holdout_percent
  check (holdout_percent between 0 and 100) not valid;
alter table bonus_campaigns validate constraint bonus_campaigns_holdout_percent;

-- When the player had passed the gate and was drawn: into the holdout, or not. Whatever comes later does not change it: the
-- arms must stay as they were drawn. Null: did not pass, or from before.
alter table message_sends add column assigned_at timestamptz;
alter table bonus_campaign_rows add column assigned_at timestamptz;

-- Of the runs that ended because their players are held out: by the holdout of the project, not that of the journey.
alter table journey_runs add column is_held_out_globally boolean not null default false;

-- A service message tells a player what the player must know; no holdout of the project keeps it back.
alter table templates add column purpose text not null default 'marketing';
alter table templates add constraint templates_purpose check (purpose in ('marketing', 'service')) not valid;
alter table templates validate constraint templates_purpose;

-- The holdout of a project, over all that it sends. Every quarter of a year draws other players, and so does each change:
-- `changes` and the quarter are the round, which is in the draw.
create table global_holdouts (
  tenant_id uuid not null,
  project_id uuid not null,
  holdout_percent double precision not null check (holdout_percent between 0 and 10),
  changes integer not null default 1,
  changed_at timestamptz not null,
  foreign key (tenant_id, project_id) references projects,
  primary key (tenant_id, project_id)
);
call protect_tenant_table('global_holdouts');

-- What was said about an effect once its last window was over: what is corrected later does not change it.
create table effect_reports (
  tenant_id uuid not null,
  project_id uuid not null,
  -- A campaign or a bonus campaign.
  experiment_id uuid not null,
  report jsonb not null,
  stored_at timestamptz not null,
  primary key (tenant_id, project_id, experiment_id)
);
call protect_tenant_table('effect_reports');
