-- A block of the sink is made of ranges of several partitions: the rows with its token, each from `next_offset` to
-- `block_end`. Recorded before the insert, so that whoever comes to one of the partitions after a crash or a rebalance
-- repeats the same rows under the same token. Both columns are null between blocks. A sink of an older version cannot
-- open a block any more: it does not know that others have a part in one.
alter table sink_positions add column block_token text;

update sink_positions set block_token = topic || ':' || partition || ':' || next_offset || '-' || block_end
where block_end is not null;

alter table sink_positions
  add constraint sink_positions_whole_block check ((block_end is null) = (block_token is null));
