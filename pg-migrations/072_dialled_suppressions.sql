-- A telephone number is one number however it is spelled: without separators, and without zeros that stand for `+` or a
-- national call. What is no telephone number is compared in lower case. A column, because row-level security lets no index
-- be used for a condition with these functions. It rewrites the table.
alter table suppressions
  no force row level security,
  add column dialled text generated always as (case when channel = 'sms' then
    coalesce(nullif(case when address !~ '[[:alpha:]@]'
      then ltrim(regexp_replace(address, '[(]0[)]|[^0-9]', '', 'g'), '0') end, ''), lower(address)) end) stored;

-- Of several spellings the one stays that says most: a wish before a bounce, then the oldest. Without the force above,
-- row-level security hides the rows of all tenants from an owner who is no superuser.
with spelled as (
  select tenant_id, address, row_number() over (
    partition by tenant_id, dialled order by reason = 'bounce', created_at, address) as spelling
  from suppressions where channel = 'sms'
)
delete from suppressions s using spelled o
where s.tenant_id = o.tenant_id and s.channel = 'sms' and s.address = o.address and o.spelling > 1;
alter table suppressions force row level security;

create unique index suppressions_dialled on suppressions (dialled, tenant_id) where channel = 'sms';
