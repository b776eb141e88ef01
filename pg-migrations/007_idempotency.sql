-- The answers to requests with an Idempotency-Key. An answer is written in the transaction of the request's effect, so
-- that both are committed or neither.
create table idempotency_keys (
  tenant_id uuid not null,
  -- Method and declared path of the endpoint.
  route text not null,
  idempotency_key uuid not null,
  -- SHA-256 of the request: project, parameters, body.
  request_hash bytea not null,
  status smallint not null,
  -- The response body as it was sent.
  response text not null,
  created_at timestamptz not null,
  primary key (tenant_id, route, idempotency_key)
);
-- For the removal of old rows.
create index idempotency_keys_by_age on idempotency_keys (tenant_id, created_at);
call protect_tenant_table('idempotency_keys');
