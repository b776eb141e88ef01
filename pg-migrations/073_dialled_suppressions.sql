-- A telephone number is one number however it is spelled: without separators, and without zeros that stand for `+` or a
-- national call. What is no telephone number is compared in lower case. The first of several spellings stays.
-- Row-level security would hide the rows of all tenants from an owner who is no superuser.
alter table suppressions no force row level security;
with spelled as (
  select tenant_id, address, row_number() over (
    partition by tenant_id, coalesce(nullif(case when address !~ '[[:alpha:]@]'
      then ltrim(regexp_replace(address, '[(]0[)]|[^0-9]', '', 'g'), '0') end, ''), lower(address))
    order by created_at, address) as spelling
  from suppressions where channel = 'sms'
)
delete from suppressions s using spelled o
where s.tenant_id = o.tenant_id and s.channel = 'sms' and s.address = o.address and o.spelling > 1;
alter table suppressions force row level security;

create unique index suppressions_dialled on suppressions (
  (coalesce(nullif(case when address !~ '[[:alpha:]@]'
    then ltrim(regexp_replace(address, '[(]0[)]|[^0-9]', '', 'g'), '0') end, ''), lower(address))), tenant_id)
  where channel = 'sms';
