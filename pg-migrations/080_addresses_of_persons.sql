-- An address without characters that have no look of their own, without spaces around, and of a link the address alone:
-- what `plainAddress` of the service makes of it (a test compares them). Earlier releases stored addresses as they came.
create function plain_address(address text) returns text language sql immutable parallel safe
return btrim(regexp_replace(
  btrim(regexp_replace(address, '[\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]', '', 'g'),
    E'\t\n\x0b\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'),
  '^(?:mailto|tel|sms):(?://)?([^?;]*).*$', '\1', 'i'),
  E'\t\n\x0b\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000');

-- An address as it is compared: a telephone number without separators, and without zeros that stand for `+` or a national
-- call; everything else in lower case; both plain. Null: no address. Cut, because entries of an index have a limit: what is
-- that long is no address.
create function address_key(channel text, address text) returns text language sql immutable parallel safe
return nullif(left(case when channel = 'sms' then coalesce(nullif(case when plain_address(address) !~ '[[:alpha:]@]'
    then ltrim(regexp_replace(plain_address(address), '[(]0[)]|[^0-9]', '', 'g'), '0') end, ''), lower(plain_address(address)))
  else lower(plain_address(address)) end, 600), '');

-- An exclusion, a ban or a break is of a person, and so of each of the person's addresses, whichever player of the tenant is
-- written to. `barred_until` is its end, `infinity` without one; a deleted player was banned if `was_banned`. Columns,
-- because row-level security lets no index be used for a condition with these functions. They rewrite the table.
alter table players
  add column was_banned boolean not null default false,
  add column barred_until timestamptz generated always as (case
    when self_excluded or status in ('self_excluded', 'banned') or was_banned then 'infinity'::timestamptz
    else cooldown_until end) stored,
  add column email_key text generated always as (address_key('email', email)) stored,
  add column sms_key text generated always as (address_key('sms', phone)) stored,
  add column push_key text generated always as (address_key('push',
    case when jsonb_typeof(custom_attributes -> 'push_token') = 'string'
      then custom_attributes ->> 'push_token' end)) stored;
create index players_by_email_key on players (email_key, tenant_id, barred_until) where email_key is not null;
create index players_by_sms_key on players (sms_key, tenant_id, barred_until) where sms_key is not null;
create index players_by_push_key on players (push_key, tenant_id, barred_until) where push_key is not null;

-- The addresses of players that were merged into one with another address: they are of the same person, `player_id`.
create table merged_addresses (
  tenant_id uuid not null,
  project_id uuid not null,
  player_id uuid not null,
  channel text not null check (channel in ('email', 'sms', 'push')),
  address_key text not null,
  primary key (address_key, channel, player_id, tenant_id, project_id)
);
create index merged_addresses_of_player on merged_addresses (player_id, tenant_id, project_id);
call protect_tenant_table('merged_addresses');
