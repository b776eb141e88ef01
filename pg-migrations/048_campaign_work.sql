-- Bonus campaigns: what is open, what waits, and who was left out. Reconciliation: what there is to ask about.

create index bonus_campaigns_open on bonus_campaigns (campaign_id)
  where status in ('issuing', 'paused', 'cancelled') and finished_at is null;
drop index bonus_campaigns_at_work;

-- Grants of campaigns of which nothing was sent: parked ones come last.
create index bonus_grants_unsent_of_campaign on bonus_grants
  (campaign_id, next_attempt_at, grant_id, tenant_id, project_id)
  where campaign_id is not null and status = 'pending' and outcome = 'unsent';

alter table bonus_campaign_budgets
  -- The least that the grant of a member costs who was left out because it did not fit into the limits; null: none was.
  add column short_cost_base numeric(38, 0),
  -- The same, of those who were decided about again since; it takes the place of the other at the end.
  add column retry_cost_base numeric(38, 0),
  -- Members who were left out are decided about again behind this one. Null: they are not.
  add column retried_to uuid;

-- Live grants that a platform may know.
create index bonus_grants_to_compare on bonus_grants (adapter_slug, tenant_id, project_id, grant_id)
  where status in ('pending', 'active') and (status = 'active' or outcome <> 'unsent' or may_be_sent);
drop index bonus_grants_live_of_platform;

alter table bonus_reconcile_positions
  -- Behind which grant a comparison began that was cut: it goes on to the last one, and then from the first to this one.
  -- Null: it is over, and the next one begins behind after_grant_id.
  add column began_after uuid;

-- What the grants of a template cost, from the index alone.
create index bonus_grants_cost on bonus_grants (template_id, tenant_id, project_id) include (bonus_amount_base)
  where status not in ('cancelled', 'failed');
