-- How far the consumer had handled the partition before the log was asked for its ends: its position, and for the sink the
-- end of its open block. Only a partition that ended before it has lost records. The others are consumed until the consumer
-- is stopped, so that their present positions may be beyond the end that is recorded here. Null: an earlier version
-- recorded it.
alter table position_refusals add column handled_offset bigint;
