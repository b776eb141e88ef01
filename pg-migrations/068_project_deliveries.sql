-- The webhooks of all journeys of a project, the newest first, by status. The list of all statuses merges four ranges.
create index webhook_deliveries_of_project
  on webhook_deliveries (project_id, status, created_at desc, event_id desc, tenant_id)
  where created_at > '-infinity';
