-- A JSON object as ClickHouse gets it: an integer beyond 64 bits, for which ClickHouse would refuse the whole text, gets the
-- exponent 0, with a small e in the object itself and a large one deeper (src/analytics/stored-json.ts does the same with
-- events).
create function stored_json(value jsonb, mark text default 'e+00') returns text
language plpgsql immutable strict parallel safe as $$
begin
  case jsonb_typeof(value)
    when 'object' then
      return '{' || coalesce((
        select string_agg(to_json(m.key)::text || ':' ||
          case when jsonb_typeof(m.value) = 'number' then stored_json(m.value, mark)
            else stored_json(m.value, 'E+00') end, ',')
        from jsonb_each(value) m), '') || '}';
    when 'array' then
      return '[' || coalesce((
        select string_agg(stored_json(e.value, 'E+00'), ',' order by e.ordinality)
        from jsonb_array_elements(value) with ordinality e), '') || ']';
    when 'number' then
      return value::text || case when scale(value::text::numeric) > 0
        or value::text::numeric between -9223372036854775808 and 18446744073709551615 then '' else mark end;
    else return value::text;
  end case;
end $$;

-- Row-level security would hide the rows of all tenants from an owner who is no superuser.
alter table players no force row level security;
alter table player_totals no force row level security;
alter table segments no force row level security;

-- Players whom ClickHouse could not read are copied again, which marks them for the segments that read their profile.
update player_totals t set changed_xid = pg_current_xact_id()
from players p
where p.tenant_id = t.tenant_id and p.project_id = t.project_id and p.player_id = t.player_id
  and p.custom_attributes::text ~ '[0-9]{19}';

-- Segments that ask for properties missed events with such numbers: they are refreshed once ClickHouse has rewritten those
-- (clickhouse/010_exact_numbers.sql), within the hour, not all at once.
update segments set refresh_retry_at = now() + interval '10 minutes' + random() * interval '50 minutes'
where refresh_strategy = 'realtime' and deleted_at is null and refresh_retry_at is null
  and definition::text ~ '"(property|where)"';

alter table players force row level security;
alter table player_totals force row level security;
alter table segments force row level security;
