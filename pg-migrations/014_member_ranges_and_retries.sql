-- Members of a segment in ranges of 1,000, for the sends of a campaign or the entry of a journey. A range waits here until
-- the transaction that works through it removes it.
create table member_ranges (
  tenant_id uuid not null,
  project_id uuid not null,
  work text not null check (work in ('campaign', 'journey')),
  -- The campaign or the journey.
  owner_id uuid not null,
  -- Names the entry of a journey: its segment, or the occurrence of its schedule. The members of a segment enter once, not
  -- again when the journey is resumed.
  occasion text not null,
  -- Inclusive. The next range begins where this one ends; the last one has no end.
  from_player_id uuid not null,
  until_player_id uuid,
  -- Players who became members of the segment from then on enter in another way; null: all members enter.
  members_before timestamptz,
  primary key (tenant_id, project_id, owner_id, occasion, from_player_id)
);
create index member_ranges_turns on member_ranges (work, owner_id, occasion, from_player_id);

alter table campaign_batches no force row level security;
alter table journey_batches no force row level security;
insert into member_ranges (tenant_id, project_id, work, owner_id, occasion, from_player_id, until_player_id)
select tenant_id, project_id, 'campaign', campaign_id, '', from_player_id, until_player_id from campaign_batches;
-- Ranges of journeys ended with their last player. One between this player and the next range enters again, which changes
-- nothing: each player enters once per occasion.
insert into member_ranges
  (tenant_id, project_id, work, owner_id, occasion, from_player_id, until_player_id, members_before)
select tenant_id, project_id, 'journey', journey_id, occasion, from_player_id,
  lead(from_player_id) over (partition by tenant_id, project_id, journey_id, occasion order by from_player_id),
  members_before
from journey_batches;
drop table campaign_batches;
drop table journey_batches;

call protect_tenant_table('member_ranges');

-- The messages of a campaign that is retried are queued again by jobs; a campaign that is retried now gets its job.
alter table campaigns no force row level security;
select queue_job('campaign-retry-failed',
  json_build_object('tenant_id', tenant_id, 'project_id', project_id, 'campaign_id', campaign_id), 25,
  'campaign-retry-failed ' || campaign_id, null, null)
from campaigns where retry_failed_until is not null and status = 'sending';
alter table campaigns force row level security;
drop index campaigns_retrying;
