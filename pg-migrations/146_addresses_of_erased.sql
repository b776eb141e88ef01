-- While a person is erased, what is accepted of the person is still on its way: an exclusion that the fold applies later has
-- to bar the addresses that the player's row does not have any more. They stay here until the erasure is done, and so does
-- the external_id, under which a person registers again.
alter table merged_addresses drop constraint merged_addresses_channel_check;
alter table merged_addresses add constraint merged_addresses_channel_check
  check (channel in ('email', 'sms', 'push', 'external_id')) not valid;
alter table merged_addresses validate constraint merged_addresses_channel_check;
