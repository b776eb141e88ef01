import { randomUUID } from 'node:crypto';
import type { Tx } from '../src/platform/postgres/port.ts';

/** The path of a bare route. */
export interface Project {
  tenant: string;
  project: string;
}

interface Ids {
  external_id: string;
  anonymous_id: string;
}

/** The players of two ids, as identify finds them. */
export function selectNamed(tx: Tx, { tenant, project }: Project, { external_id, anonymous_id }: Ids) {
  return tx<{ player_id: string }[]>`
    with named as (
      select player_id from player_identities
      where tenant_id = ${tenant} and project_id = ${project} and anonymous_id = ${anonymous_id}
      union all
      select player_id from players
      where tenant_id = ${tenant} and project_id = ${project} and external_id = ${external_id}
    )
    select p.player_id, p.external_id, p.deleted_at is not null as deleted
    from named n
    cross join lateral (
      select * from players p
      where p.tenant_id = ${tenant} and p.project_id = ${project} and p.player_id = n.player_id offset 0) p`;
}

/** Inserts a player with its link, its totals and its traits. */
export function insertNewcomer(
  tx: Tx,
  { tenant, project }: Project,
  { external_id, anonymous_id, traits }: Ids & { traits: { email: string } },
) {
  const { email, ...attributes } = traits;
  return tx<{ player_id: string }[]>`
    with identity as (
      insert into player_identities (tenant_id, project_id, anonymous_id, player_id, linked_at)
      values (${tenant}, ${project}, ${anonymous_id}, ${randomUUID()}, now())
      on conflict do nothing
      returning player_id
    ), player as (
      insert into players (
        tenant_id, project_id, player_id, external_id, email, anonymous_ids, default_currency_code, custom_attributes,
        created_at, updated_at
      )
      select tenant_id, ${project}, player_id, ${external_id}, ${email}, array[${anonymous_id}::text], base_currency,
        ${JSON.stringify(attributes)}::text::jsonb, now(), now()
      from tenants, identity
      where tenant_id = ${tenant}
      on conflict (external_id, tenant_id, project_id) where external_id is not null do nothing
      returning player_id
    )
    insert into player_totals (tenant_id, project_id, player_id, first_seen_at, last_seen_at, updated_at)
    select ${tenant}, ${project}, player_id, now(), now(), now() from player
    returning player_id`;
}
