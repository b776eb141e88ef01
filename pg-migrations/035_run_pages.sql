-- A run is updated at every rest, and most runs soon after they have begun: a page that was filled to 80 % has room for a
-- quarter of its rows only, and each of the other updates writes all indexes.
alter table journey_runs set (fillfactor = 50);
