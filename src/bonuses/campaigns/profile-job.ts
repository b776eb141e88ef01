import type { CronEntry } from '../../platform/jobs/port.ts';
import { startBefore, startOfLocal } from '../../platform/local-intervals.ts';
import type { Platform } from '../../platform/platform.ts';
import { readTenantConfig, reportingZoneOf } from '../../tenants/config/read.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { profileFrom } from './profile.ts';
import { readActiveQuarters, selectProfiled, storeProfile, type ProfiledProject } from './profile-queries.ts';

/** Counts the profiles of activity by which daily budgets are used. */
export const PROFILES_TASK = 'bonus-profiles';

/** Whole local days that are counted. */
const DAYS = 28;
/** How long a profile is used. */
const FRESH_MS = 24 * 3_600_000;
const PAGE = 200;

type Deps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'logger'>;

/** Every 15 minutes: a new campaign has its profile soon, and every profile is counted once a day. */
export const PROFILES_CRONTAB: readonly CronEntry[] = [
  {
    identifier: 'bonus profiles due',
    match: '*/15 * * * *',
    backfill_ms: 0,
    job: { task: PROFILES_TASK, payload: {}, max_attempts: 1, job_key: PROFILES_TASK },
  },
];

/**
 * The task `bonus-profiles`: counts the profile of each project with a campaign that needs it, when it is a day old or was
 * counted by the clocks of another zone. A project that fails keeps its profile, and stops no other.
 */
export async function runProfilesJob(deps: Deps, stop: AbortSignal): Promise<void> {
  for (let after: ProjectRef | undefined; ;) {
    const projects: ProfiledProject[] = await selectProfiled(deps.postgres.service, after, PAGE);
    for (const project of projects) {
      stop.throwIfAborted();
      try {
        await countProfile(deps, project);
      } catch (error) {
        const { tenant_id, project_id } = project;
        deps.logger.warn(
          { err: error, tenant_id, project_id },
          'the profile of activity could not be counted',
        );
      }
    }
    after = projects.at(-1);
    if (projects.length < PAGE) return;
  }
}

async function countProfile(
  { postgres, clickhouse, clock }: Deps,
  { tenant_id, project_id, timezone, counted_at }: ProfiledProject,
): Promise<void> {
  const now_ms = clock.now_ms();
  const zone = reportingZoneOf(await readTenantConfig(postgres.service, tenant_id));
  const is_fresh = counted_at !== null && counted_at.getTime() > now_ms - FRESH_MS;
  if (is_fresh && timezone === zone.name) return;
  const from_ms = startBefore(zone, 'day', now_ms, DAYS);
  const to_ms = startOfLocal(zone, 'day', now_ms);
  const project = { tenant_id, project_id };
  const quarters = await readActiveQuarters(clickhouse, project, { from_ms, to_ms });
  const hours = profileFrom(zone, quarters);
  const counted = { timezone: zone.name, hours, counted_at: new Date(now_ms) };
  await postgres.service.begin((tx) => storeProfile(tx, project, counted));
}
