-- An event that was recorded before a filter compared its amount may have lost its place: its log is not known.
alter table unrated_events alter column log_id drop not null;
