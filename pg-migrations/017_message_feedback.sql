-- send-mirror keeps two positions: `message_sends` of the rows in ClickHouse, `message_feedback` of the events that
-- report them. A rebuild of ClickHouse sets back only the first, so nothing is reported again.
insert into mirror_positions (name, changed_xid, row_id)
select 'message_feedback', changed_xid, row_id from mirror_positions where name = 'message_sends';
