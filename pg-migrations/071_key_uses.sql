-- When each key was used last, to about a minute. No index has it, so that writing it touches none.
alter table api_keys add column last_used_at timestamptz;
