-- How many members a segment had at full hours. A size that has not changed since the last row of the segment is written
-- at midnight only, and after a month only the rows of midnight are kept.
create table segment_sizes (
  tenant_id uuid not null,
  project_id uuid not null,
  segment_id uuid not null,
  counted_at timestamptz not null,
  size bigint not null,
  primary key (tenant_id, project_id, segment_id, counted_at)
);
-- What is old is removed by time.
create index segment_sizes_by_time on segment_sizes (counted_at);
call protect_tenant_table('segment_sizes');
