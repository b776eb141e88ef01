-- The deposit that a bonus was granted for, by its transaction_id. Null: none, or it is not known.
alter table bonus_grants
  add column deposit_transaction_id text collate "C",
  -- When it was found that this deposit is reversed to 0: somebody has to look at the bonus. Null: it was not found.
  add column deposit_reversed_at timestamptz;

-- The last deposit of a member who is reserved or sent, for the grant.
alter table bonus_campaign_rows
  add column deposit_transaction_id text collate "C";
