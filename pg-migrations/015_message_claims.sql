-- Each message that is being sent says until when its messenger has it; messengers have no leases any more.
drop table messenger_leases;
-- Its index goes with it.
alter table message_sends drop column lease_id;
-- Read while the message is `sending`: when this time passes, its messenger has died, and the message is given up. It is
-- null, which counts as passed, for a message that was `sending` before this migration.
alter table message_sends add column claimed_until timestamptz;
-- The expression lets the search for passed claims read nothing else.
create index message_sends_sending on message_sends (coalesce(claimed_until, '-infinity')) where status = 'sending';
