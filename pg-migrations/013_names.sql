-- Renames tables and columns to the usual terms of stream processors and job queues. No row changes. Code of earlier
-- versions knows only the old names: all processes must be stopped before this migration is applied.

-- The leases of messengers, which heartbeats renew. A message that is `sending` under an expired lease is given up.
alter table messengers rename to messenger_leases;
alter table messenger_leases rename constraint messengers_pkey to messenger_leases_pkey;
alter table messenger_leases rename column messenger_id to lease_id;
alter table messenger_leases rename column alive_until to expires_at;

-- The lease under which a message is sent.
alter table message_sends rename column messenger_id to lease_id;
-- A campaign sends one message per player and key: the event that fired the campaign, or empty.
alter table message_sends rename column occasion to dedup_key;

-- When ClickHouse's rows of the old player were rewritten to the survivor's id.
alter table player_merges rename column squashed_at to rewritten_at;

-- Players to be evaluated again in realtime segments, because data that those read has changed in ClickHouse.
alter table segment_touches rename to dirty_players;
alter table dirty_players rename constraint segment_touches_pkey to dirty_players_pkey;
alter index segment_touches_in_order rename to dirty_players_in_order;
alter sequence segment_touches_touch_id_seq rename to dirty_players_entry_id_seq;
alter table dirty_players rename column touch_id to entry_id;
alter table dirty_players rename column touched_at to marked_at;

-- Whether the player was marked dirty for every segment of its project after it came to ClickHouse.
alter table players rename column is_introduced to is_known_to_segments;
alter index players_not_to_be_written_to rename to players_not_contactable;

-- The id of a player (player-mirror) or of a send (send-mirror).
alter table mirror_positions rename column player_id to row_id;
