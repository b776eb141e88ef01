-- The list of blocked messages reads each code by itself (message_sends_blocked_by_code). With this index beside it, the
-- planner could read the messages of all codes to find those of one.
drop index message_sends_blocked;
