import type { PendingQuery } from 'postgres';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** The members of a campaign of one status and code. Amounts are digits, in the smallest unit of the base currency. */
export interface CountedRows {
  campaign_id: string;
  status: 'pending' | 'reserved' | 'sent' | 'granted' | 'skipped' | 'failed';
  code: string | null;
  rows: number;
  cost: string;
  released: string;
  ended_unreleased: string;
  open: string;
}

/** Counts the members of campaigns by status and code. */
export function countRows(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  campaign_ids: readonly string[],
): PendingQuery<CountedRows[]> {
  return tx<CountedRows[]>`
    select asked.campaign_id, r.*
    from unnest(${plainArray(campaign_ids)}::text::uuid[]) as asked (campaign_id)
    cross join lateral (
      select r.status, r.code, count(*)::integer as rows, sum(r.cost_base)::text as cost,
        sum(r.released_base)::text as released,
        coalesce(sum(greatest(r.cost_base - r.released_base, 0)) filter (where not r.is_open), 0)::text as ended_unreleased,
        coalesce(sum(r.cost_base) filter (where r.is_open), 0)::text as open
      from bonus_campaign_rows r
      where r.campaign_id = asked.campaign_id and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
      group by r.status, r.code
      offset 0) r`;
}
