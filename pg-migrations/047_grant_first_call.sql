-- When the first call of a grant began: a grant may wait for days before that, in a campaign that is slow or paused. Null:
-- there was none, or it was before this column was added.
alter table bonus_grants add column first_called_at timestamptz;
