-- The members of a segment enter a journey once, not again when it is resumed: their entry is named by the segment, and no
-- more by the time of the activation, which each resume set.
alter table journey_batches
  -- Who became a member of the segment from then on enters in another way; null: all members enter.
  add column members_before timestamptz;

-- Without the force, row-level security hides the rows of all tenants from an owner who is no superuser.
alter table journeys no force row level security;
alter table journey_versions no force row level security;
alter table journey_occasions no force row level security;
alter table journey_batches no force row level security;

-- Of each journey the latest entry is kept, for the segment of the live version.
create temporary table kept_entries on commit drop as
select distinct on (o.tenant_id, o.project_id, o.journey_id) o.tenant_id, o.project_id, o.journey_id, o.occasion,
  'existing members of ' || (v.trigger ->> 'segment_id') as name,
  substr(o.occasion, length('existing members ') + 1)::timestamptz as members_before
from journey_occasions o
join journeys j on j.tenant_id = o.tenant_id and j.project_id = o.project_id and j.journey_id = o.journey_id
join journey_versions v on v.tenant_id = j.tenant_id and v.project_id = j.project_id and v.journey_id = j.journey_id
  and v.version = j.version
where o.occasion like 'existing members 2%' and v.trigger ->> 'segment_id' is not null
order by o.tenant_id, o.project_id, o.journey_id, o.occasion desc;

update journey_batches b set occasion = k.name, members_before = k.members_before
from kept_entries k
where b.tenant_id = k.tenant_id and b.project_id = k.project_id and b.journey_id = k.journey_id and b.occasion = k.occasion;
update journey_occasions o set occasion = k.name
from kept_entries k
where o.tenant_id = k.tenant_id and o.project_id = k.project_id and o.journey_id = k.journey_id and o.occasion = k.occasion;
delete from journey_batches where occasion like 'existing members 2%';
delete from journey_occasions where occasion like 'existing members 2%';

alter table journeys force row level security;
alter table journey_versions force row level security;
alter table journey_occasions force row level security;
alter table journey_batches force row level security;
