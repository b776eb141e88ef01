-- A campaign's grant of which nothing was sent may be tried from this moment on when its platform takes calls again. The
-- column is renamed, so rows that wait keep their moment, and the index of what may be called follows.
alter table bonus_grants rename column put_off_to to retry_early_at;
