-- If nothing of a campaign's grant was sent, it may be tried from this moment on, once its platform takes calls again. The
-- column is renamed, so rows that wait keep their moment. The index of grants that may be called follows.
alter table bonus_grants rename column put_off_to to retry_early_at;
