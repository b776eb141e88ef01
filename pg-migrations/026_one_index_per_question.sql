-- Without statistics, and for a tenant that the statistics do not know, the planner takes (tenant_id, project_id) for as
-- selective as a whole key. Then all indexes that begin with both are equally good to it, and with the wrong one it reads
-- a whole project for each row. So in tables with a row per player, membership or message:
-- * keys and indexes begin with the columns that their readers look for, and end with tenant and project;
-- * an index that begins with tenant and project is for one list, and has a condition that only this list states
--   (src/platform/postgres/keyset.ts).
-- test/platform/postgres/statement-plans.test.ts compares what statements read in small and large projects.

alter table players drop constraint players_pkey, add primary key (player_id, tenant_id, project_id);
drop index players_by_external_id, players_by_email, players_by_phone, players_by_telegram_id;
create unique index players_by_external_id on players (external_id, tenant_id, project_id) where external_id is not null;
create index players_by_email on players (email, tenant_id, project_id) where email is not null;
create index players_by_phone on players (phone, tenant_id, project_id) where phone is not null;
create index players_by_telegram_id on players (telegram_id, tenant_id, project_id) where telegram_id is not null;

alter table player_totals drop constraint player_totals_pkey, add primary key (player_id, tenant_id, project_id);
drop index player_totals_by_last_seen;
create index player_totals_by_last_seen on player_totals (tenant_id, project_id, last_seen_at desc, player_id desc)
  where last_seen_at > '-infinity';

alter table player_identities drop constraint player_identities_pkey,
  add primary key (anonymous_id, tenant_id, project_id);

alter table player_merges drop constraint player_merges_pkey, add primary key (player_id, tenant_id, project_id);
drop index player_merges_by_survivor;
create index player_merges_by_survivor on player_merges (into_player_id, tenant_id, project_id);

alter table segment_members drop constraint segment_members_pkey,
  add primary key (segment_id, player_id, tenant_id, project_id);
drop index segment_members_by_player;
create index segment_members_by_player on segment_members (player_id, tenant_id, project_id);

alter table message_sends drop constraint message_sends_pkey, add primary key (send_id, tenant_id, project_id);

drop index segments_by_age, campaigns_by_age, templates_by_age, api_keys_by_age, messaging_providers_by_age;
create index segments_by_age on segments (tenant_id, project_id, created_at desc, segment_id desc)
  where created_at > '-infinity';
create index campaigns_by_age on campaigns (tenant_id, project_id, created_at desc, campaign_id desc)
  where created_at > '-infinity';
create index templates_by_age on templates (tenant_id, project_id, created_at desc, template_id desc)
  where created_at > '-infinity';
create index api_keys_by_age on api_keys (tenant_id, project_id, created_at desc, key_id desc)
  where created_at > '-infinity';
create index messaging_providers_by_age on messaging_providers (tenant_id, created_at desc, provider_id desc)
  where created_at > '-infinity';
