import { textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { BUILT_IN_CAPABILITIES } from '../../adapters/sandbox.ts';
import { SANDBOX_SLUG } from '../../adapters/platform.ts';
import type { GrantRef } from '../grants/grant-row.ts';
import { requiredColumn } from './count-queries.ts';

const IS_BUILT_IN_COMPLETED = BUILT_IN_CAPABILITIES.completion === 'service';

/** Those of the slugs whose grants this service completes once their wagering is met. */
export async function selectCompleting(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  slugs: readonly string[],
): Promise<Set<string>> {
  const own = IS_BUILT_IN_COMPLETED ? [SANDBOX_SLUG] : [];
  const asked = slugs.filter((slug) => slug !== SANDBOX_SLUG);
  if (asked.length === 0) return new Set(own);
  const rows = await tx<{ slug: string }[]>`
    select slug from adapters
    where slug = any(${textArray(asked)}::text::text[]) and tenant_id = ${tenant_id} and project_id = ${project_id}
      and capabilities ->> 'completion' = 'service'`;
  return new Set([...own, ...rows.map(({ slug }) => slug)]);
}

/** A live grant, and whether this service has to complete it. */
export interface LiveGrant extends GrantRef {
  is_met: boolean;
}

/** Returns a row while a grant has not ended. */
export const completionWork: WorkQuery = (sql) => sql`
  select from bonus_grants where status in ('pending', 'active') order by grant_id limit 1`;

/** Grants after `after`, in the order of their ids, that have not ended. */
export async function selectLiveWagering(sql: Tx, after: string, limit: number): Promise<LiveGrant[]> {
  return sql<LiveGrant[]>`
    select g.tenant_id, g.project_id, g.grant_id,
      g.status = 'active' and g.progress_source <> 'platform' and g.cancel_requested_at is null
        and coalesce(g.wagering_sum >= (${requiredColumn(sql)}) * 100, false)
        and ((g.adapter_slug = ${SANDBOX_SLUG} and ${IS_BUILT_IN_COMPLETED}::boolean)
          or exists (select from adapters a where a.slug = g.adapter_slug and a.tenant_id = g.tenant_id
            and a.project_id = g.project_id and a.capabilities ->> 'completion' = 'service' offset 0)) as is_met
    from bonus_grants g
    where g.status in ('pending', 'active') and g.grant_id > ${after}
    order by g.grant_id
    limit ${limit}`;
}
