-- Which log the offsets of a topic belong to. A dump keeps it, as it keeps the records; a new log has another one.
alter table event_log.topics add column log_id uuid not null default gen_random_uuid();
