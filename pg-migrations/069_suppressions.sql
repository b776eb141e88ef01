-- Suppressions that people enter, and their list. An id names a suppression in paths, where an address must not be.
alter table suppressions add column suppression_id uuid not null default gen_random_uuid();
alter table suppressions drop constraint suppressions_reason_check,
  add constraint suppressions_reason_check check (reason in ('bounce', 'complaint', 'unsubscribe', 'manual'));
create unique index suppressions_by_id on suppressions (suppression_id);
create index suppressions_by_age on suppressions (tenant_id, created_at desc, suppression_id desc)
  where created_at > '-infinity';
