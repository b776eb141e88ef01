-- A job has a priority: one tenant's line does not stop another's. A process of before calls the function without it.
drop function queue_job;
create function queue_job(
  task text, payload json, max_attempts integer, job_key text, queue text, run_at timestamptz, priority integer default 0
) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform graphile_worker.add_job(
    identifier => queue_job.task, payload => queue_job.payload, queue_name => queue_job.queue,
    run_at => coalesce(queue_job.run_at, now()), max_attempts => queue_job.max_attempts, job_key => queue_job.job_key,
    priority => queue_job.priority);
end $$;
revoke all on function queue_job from public;
grant execute on function queue_job to engagement_api, engagement_service;
