-- When the player first deposited, as in Postgres. Null: never, or the player was not copied again since that is known.
alter table players add column if not exists first_deposit_at Nullable(DateTime64(3, 'UTC')) after session_count;
