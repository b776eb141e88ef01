-- The audit log stays append-only, but for one change: an erasure replaces what a row says about a person by its own id. Who
-- did what to which record, and when, stays. The API role still cannot change rows at all.
grant update (before, after) on audit_log to engagement_service;

-- An erased address is looked for in the few rows that have one.
create index audit_log_suppressions on audit_log (tenant_id, audit_id) where resource_type = 'suppression';

create function is_erased_side(anew jsonb, old jsonb) returns boolean language sql immutable parallel safe
return old is not null and coalesce(anew = jsonb_build_object('erased', anew ->> 'erased')
  and anew ->> 'erased' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', false);

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if new.before is distinct from old.before and not is_erased_side(new.before, old.before)
    or new.after is distinct from old.after and not is_erased_side(new.after, old.after)
  then
    raise exception 'rows of the audit log are never changed, except by an erasure';
  end if;
  return new;
end $$;
create trigger audit_log_is_append_only before update on audit_log
  for each row execute function refuse_audit_change();
