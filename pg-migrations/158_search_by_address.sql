-- The search of players reads these indexes, too, for one project: it must not look up the players of the tenant's other
-- projects whose addresses begin alike.
drop index players_by_email_key, players_by_sms_key;
create index players_by_email_key on players (email_key, tenant_id, barred_until, project_id) where email_key is not null;
create index players_by_sms_key on players (sms_key, tenant_id, barred_until, project_id) where sms_key is not null;
