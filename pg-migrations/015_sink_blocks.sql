-- A block of the sink consists of ranges of several partitions: the rows with its token, each with the range from
-- `next_offset` to `block_end`. It is recorded before the insert, so that after a crash or a rebalance the sink that
-- gets one of the partitions repeats the same rows under the same token. Both columns are null between blocks. A sink
-- of an older version cannot open a block any more: it does not know that a block can include other partitions.
alter table sink_positions add column block_token text;

update sink_positions set block_token = topic || ':' || partition || ':' || next_offset || '-' || block_end
where block_end is not null;

alter table sink_positions
  add constraint sink_positions_whole_block check ((block_end is null) = (block_token is null));
