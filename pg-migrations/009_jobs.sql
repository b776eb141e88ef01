-- Adds a job for graphile-worker (src/platform/jobs) in the caller's transaction. The tables of graphile-worker belong
-- to the migrating user and have row-level security without policies, so the other roles can add jobs only by this
-- function.
create function queue_job(
  task text, payload json, max_attempts integer, job_key text, queue text, run_at timestamptz
) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform graphile_worker.add_job(
    identifier => queue_job.task, payload => queue_job.payload, queue_name => queue_job.queue,
    run_at => coalesce(queue_job.run_at, now()), max_attempts => queue_job.max_attempts, job_key => queue_job.job_key);
end $$;
revoke all on function queue_job from public;
grant execute on function queue_job to engagement_api, engagement_service;
