-- A membership that a tenant's admins have added counts once the user has accepted it. Null: invited. Memberships that
-- were there before, and those that the operator of the service makes, are accepted.
alter table memberships add column accepted_at timestamptz default now();
