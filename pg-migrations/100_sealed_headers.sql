-- The values of webhooks' headers are stored encrypted, as {"sealed": "…"}. SQL cannot encrypt: the deliverer seals those
-- that earlier versions stored in clear, page by page before its first call (src/engage/webhooks/sealing.ts). These
-- indexes hold only what is still in clear, so that each start sees at once that nothing is.
create index journeys_in_clear on journeys (tenant_id, project_id, journey_id)
  where jsonb_path_exists(graph, '$.nodes[*] ? (@.type == "call_webhook").headers.* ? (@.type() == "string")');
create index journey_versions_in_clear on journey_versions (tenant_id, project_id, journey_id, version)
  where jsonb_path_exists(graph, '$.nodes[*] ? (@.type == "call_webhook").headers.* ? (@.type() == "string")');
create index webhook_deliveries_in_clear on webhook_deliveries (tenant_id, event_id)
  where jsonb_path_exists(headers, '$.* ? (@.type() == "string")');

-- The audit log shows no values of headers, whatever their names. Row-level security hides the rows of all tenants from an
-- owner who is no superuser.
create function pg_temp.with_masked_headers(image jsonb) returns jsonb
  language sql immutable as $$
  select case when jsonb_path_exists(image, '$.graph.nodes[*].headers.*') then jsonb_set(image, '{graph,nodes}', (
    select jsonb_agg(case when jsonb_typeof(node -> 'headers') is distinct from 'object' then node
      else jsonb_set(node, '{headers}', (
        select coalesce(jsonb_object_agg(name, '***'::text), '{}') from jsonb_object_keys(node -> 'headers') as name))
      end order by place)
    from jsonb_array_elements(image #> '{graph,nodes}') with ordinality as n (node, place)))
  else image end
$$;
-- Its rows are otherwise never changed, except by an erasure.
alter table audit_log disable trigger audit_log_is_append_only;
alter table audit_log no force row level security;
update audit_log set before = pg_temp.with_masked_headers(before), after = pg_temp.with_masked_headers(after)
where resource_type = 'journey' and (
  jsonb_path_exists(before, '$.graph.nodes[*].headers.* ? (@ != "***")')
  or jsonb_path_exists(after, '$.graph.nodes[*].headers.* ? (@ != "***")'));
alter table audit_log force row level security;
alter table audit_log enable trigger audit_log_is_append_only;
