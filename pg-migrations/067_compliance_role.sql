-- A role beside the ladder: it reads what viewers read, and what concerns the protection of players.
alter table memberships drop constraint memberships_role_check;
alter table memberships add constraint memberships_role_check
  check (role in ('owner', 'admin', 'editor', 'viewer', 'compliance')) not valid;
alter table memberships validate constraint memberships_role_check;
alter table audit_log drop constraint audit_log_role_check;
alter table audit_log add constraint audit_log_role_check
  check (role in ('owner', 'admin', 'editor', 'viewer', 'compliance')) not valid;
