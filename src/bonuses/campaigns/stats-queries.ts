import type { PendingQuery } from 'postgres';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** The members of a campaign of one status and, of skipped ones, code. Amounts are digits, in the smallest unit of the base currency. */
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

/**
 * The members of campaigns by status and, of skipped ones, code, from the counts that are kept as rows change: of each
 * campaign it reads some rows for every status and code, however many members it has.
 */
export function countRows(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  campaign_ids: readonly string[],
): PendingQuery<CountedRows[]> {
  return tx<CountedRows[]>`
    select asked.campaign_id, c.*
    from unnest(${plainArray(campaign_ids)}::text::uuid[]) as asked (campaign_id)
    cross join lateral (
      select c.status, c.code, sum(c.members)::integer as rows, sum(c.cost_base)::text as cost,
        sum(c.released_base)::text as released, sum(c.ended_unreleased_base)::text as ended_unreleased,
        sum(c.open_base)::text as open
      from bonus_campaign_counts c
      where c.campaign_id = asked.campaign_id and c.tenant_id = ${tenant_id} and c.project_id = ${project_id}
      group by c.status, c.code
      having sum(c.members) > 0
      offset 0) c`;
}
