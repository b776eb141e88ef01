-- For the list of a project's keys, the newest first.
create index api_keys_by_age on api_keys (tenant_id, project_id, created_at desc, key_id desc);
