-- Secrets of the installation that no tenant has, encrypted with CREDENTIALS_KEY.
create table installation_secrets (
  name text primary key,
  encrypted bytea not null
);
grant select, insert, update, delete on installation_secrets to engagement_service;
