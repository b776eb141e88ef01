import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { SharePeriod } from '../experiments/uplift-queries.ts';
import type { JourneyRef } from './graph/queries.ts';

/** Since when the newest version's share is held out; no row when no version has ever held out another one. */
export function selectSharePeriod(
  tx: Tx,
  { tenant_id, project_id, journey_id }: JourneyRef,
): PendingQuery<SharePeriod[]> {
  return tx<SharePeriod[]>`
    with shares as (
      select version, published_at, coalesce((settings ->> 'holdout_percent')::double precision, 0) as share
      from journey_versions
      where tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}),
    other as (
      select max(version) as version from shares
      where share <> (select share from shares order by version desc limit 1))
    select s.version as first_version, s.published_at as since from shares s join other o on s.version > o.version
    order by s.version limit 1`;
}
