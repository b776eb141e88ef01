-- Secrets of the whole installation, not of a tenant, encrypted with CREDENTIALS_KEY.
create table installation_secrets (
  name text primary key,
  encrypted bytea not null
);
grant select, insert, update, delete on installation_secrets to engagement_service;
