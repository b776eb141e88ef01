import type { PendingQuery } from 'postgres';
import type { Tx } from '../../../platform/postgres/port.ts';
import { rowsOf } from '../../../platform/postgres/rows.ts';
import type { JourneyRef, StoredContent } from './queries.ts';
import { exactJson } from '../../../platform/exact-json.ts';

/** A version of a journey, as it was published. */
export interface VersionRow extends StoredContent {
  version: number;
  published_at: Date;
  /** The user; null: the service. */
  published_by: string | null;
}

/** A version as lists show it. */
export type ListedVersion = Pick<VersionRow, 'version' | 'published_at' | 'published_by'> & {
  /** Running runs of it, counted up to 1,000. */
  running: number;
};

const MAX_COUNTED = 1_000;

function ofJourney(tx: Tx, { tenant_id, project_id, journey_id }: JourneyRef) {
  return tx`tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}`;
}

/** One version; no row when there is none of this number. */
export function selectVersion(tx: Tx, ref: JourneyRef, version: number): PendingQuery<VersionRow[]> {
  return tx<VersionRow[]>`
    select version, trigger, graph, settings, published_at, published_by
    from journey_versions where ${ofJourney(tx, ref)} and version = ${version}`;
}

/** Whether there is such a version; until the transaction ends it is not removed. */
export async function isVersionKept(tx: Tx, ref: JourneyRef, version: number): Promise<boolean> {
  const rows = await tx`
    select from journey_versions where ${ofJourney(tx, ref)} and version = ${version} for key share`;
  return rows.length === 1;
}

/** At most `limit` versions below `before`, the newest first. */
export function listVersions(
  tx: Tx,
  ref: JourneyRef,
  before: number | undefined,
  limit: number,
): PendingQuery<ListedVersion[]> {
  return tx<ListedVersion[]>`
    select v.version, v.published_at, v.published_by, (
      select count(*)::integer from (
        select from journey_runs r
        where r.tenant_id = ${ref.tenant_id} and r.project_id = ${ref.project_id} and r.journey_id = ${ref.journey_id}
          and r.status = 'running' and r.version = v.version
        limit ${MAX_COUNTED}) counted) as running
    from journey_versions v
    where v.tenant_id = ${ref.tenant_id} and v.project_id = ${ref.project_id} and v.journey_id = ${ref.journey_id}
      ${before === undefined ? tx`` : tx`and v.version < ${before}`}
    order by v.version desc
    limit ${limit}`;
}

/** Inserts a version, and the events that its runs may wait for or that end them. */
export async function insertVersion(
  tx: Tx,
  ref: JourneyRef,
  { version, trigger, graph, settings, published_at, published_by }: VersionRow,
  watched: readonly { event: string; kind: string }[],
): Promise<void> {
  const { tenant_id, project_id, journey_id } = ref;
  const [as_trigger, as_graph, as_settings] = [trigger, graph, settings].map((part) => exactJson(part));
  await tx`
    insert into journey_versions (tenant_id, project_id, journey_id, version, trigger, graph, settings, published_at,
      published_by)
    values (${tenant_id}, ${project_id}, ${journey_id}, ${version}, ${as_trigger ?? ''}::text::jsonb,
      ${as_graph ?? ''}::text::jsonb, ${as_settings ?? ''}::text::jsonb, ${published_at}, ${published_by})`;
  await tx`
    insert into journey_watched (tenant_id, project_id, event, journey_id, version, kind)
    select ${tenant_id}, ${project_id}, event, ${journey_id}, ${version}, kind
    from ${rowsOf(tx, 'w', watched, { event: 'text', kind: 'text' })}`;
}
