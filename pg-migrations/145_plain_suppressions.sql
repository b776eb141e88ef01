-- How a suppressed address is stored: plain, in lower case, and cut, because entries of an index have a limit. Everybody who
-- suppresses an address stores it so: what is looked for is plain, too.
create function suppressed_address(address text) returns text language sql immutable parallel safe
return left(lower(plain_address(address)), 600);

-- Earlier releases stored addresses as they came. Without the force, row-level security hides the rows of all tenants from an
-- owner who is no superuser.
alter table suppressions no force row level security;
create temporary table unplain_suppressions on commit drop as
select tenant_id, channel, address, suppressed_address(address) as plain, address_key(channel, address) as key
from suppressions
where address <> suppressed_address(address) and suppressed_address(address) <> '';

-- Of several spellings the one stays that says most: what nothing lifts, then the last unsubscription, then a bounce.
with same as (
  select tenant_id, channel, key, address from unplain_suppressions
  union
  select u.tenant_id, u.channel, u.key, s.address
  from unplain_suppressions u
  join suppressions s on s.tenant_id = u.tenant_id and s.channel = u.channel
    and u.key = case when u.channel = 'sms' then s.dialled else s.address end
), spelled as (
  select s.tenant_id, s.channel, s.address, row_number() over (
    partition by o.tenant_id, o.channel, o.key
    order by s.reason = 'bounce', s.reason = 'unsubscribe', s.created_at desc, s.address) as spelling
  from same o join suppressions s using (tenant_id, channel, address)
)
delete from suppressions s using spelled o
where s.tenant_id = o.tenant_id and s.channel = o.channel and s.address = o.address and o.spelling > 1;

update suppressions s set address = u.plain
from unplain_suppressions u
where s.tenant_id = u.tenant_id and s.channel = u.channel and s.address = u.address;
alter table suppressions force row level security;
