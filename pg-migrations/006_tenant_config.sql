-- A tenant's configuration. A tenant without a row has the defaults of the code. The code's catalogue defines the
-- allowed values of licence, verticals and `config`, so here only sizes are limited.
create table tenant_configs (
  tenant_id uuid primary key references tenants,
  license_jurisdiction text check (length(license_jurisdiction) <= 64),
  verticals text[] not null check (octet_length(array_to_string(verticals, ',')) <= 4096),
  kyc_model text not null check (kyc_model in ('platform_owns', 'crm_owns', 'dual', 'none')),
  config jsonb not null check (jsonb_typeof(config) = 'object' and octet_length(config::text) <= 16384)
);
call protect_tenant_table('tenant_configs');
