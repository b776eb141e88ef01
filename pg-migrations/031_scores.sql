-- Who computed the scores of a player, and from what was known when. Null: the score has not been computed. `default`: the
-- service's own model; any other text is a model of the operator, whose scores the service does not replace.
alter table players
  add column churn_model text,
  add column churn_as_of timestamptz,
  add column ltv_model text,
  add column ltv_as_of timestamptz;

-- The last nightly fit of each project: parameters, backtest and calibration as they are shown, and the two sums by which
-- deposits become revenue, which JSON cannot hold exactly.
create table score_models (
  tenant_id uuid not null,
  project_id uuid not null,
  status text not null check (status in ('on', 'off', 'waiting')),
  -- The end of the last day whose deposits were read.
  as_of timestamptz not null,
  fitted_at timestamptz not null,
  ngr numeric not null,
  deposited numeric not null,
  fit jsonb not null,
  primary key (tenant_id, project_id)
);
call protect_tenant_table('score_models');
