-- Of runs of a journey with a service message: the project draws nobody of it, so they are in no arm of the project's holdout.
-- A template may become one of service later; what counts is what it was when the run began.
alter table journey_runs add column is_of_service boolean not null default false;
