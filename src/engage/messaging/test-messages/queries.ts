import type { PendingQuery } from 'postgres';
import type { RuleProduct } from '../../../tenants/licence/rule.ts';
import { holdersSql, keyOfText } from '../../../protection/exclusions/address-queries.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { Channel } from '../../../tenants/config/channels.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { addressVerdictSql, verdictSql, type Gate } from '../gate-queries.ts';
import type { SkipCode } from '../send-row.ts';

/**
 * The gate's code why the player must get no message at `address` about a bonus of `product` (null: about none); null: it may. No row: the project has no such
 * player.
 */
export function selectVerdict(
  tx: Tx,
  project: ProjectRef,
  player_id: string,
  gate: Gate,
  address: string,
  product: RuleProduct | null,
): PendingQuery<{ verdict: SkipCode | null }[]> {
  const recipient = { address: tx`${address}::text`, key: keyOfText(tx, gate.channel, address) };
  return tx<{ verdict: SkipCode | null }[]>`
    select ${verdictSql(tx, gate, recipient, tx`${product}::text`)} as verdict
    from players p
    where p.tenant_id = ${project.tenant_id} and p.project_id = ${project.project_id} and p.player_id = ${player_id}`;
}

/** The gate's code why nobody may be written to at the address, whomever the message is about; null: one may. */
export function selectAddressVerdict(
  tx: Tx,
  tenant_id: string,
  channel: Channel,
  address: string,
  now: Date,
): PendingQuery<{ verdict: SkipCode | null }[]> {
  const to = { tenant_id: tx`${tenant_id}::uuid`, channel, key: keyOfText(tx, channel, address) };
  return tx<{ verdict: SkipCode | null }[]>`select ${addressVerdictSql(tx, to, now)} as verdict`;
}

/** At most so many players with an address are examined to find a live one. */
const MAX_HOLDERS = 1_000;

/** Whether a live player of the tenant has the address. */
export function selectIsHeld(
  tx: Tx,
  tenant_id: string,
  { channel, address }: { channel: Channel; address: string },
): PendingQuery<{ is_held: boolean }[]> {
  const to = { tenant_id: tx`${tenant_id}::uuid`, channel, key: keyOfText(tx, channel, address) };
  return tx<{ is_held: boolean }[]>`
    select exists (
      select from (${holdersSql(tx, to, MAX_HOLDERS)}) h
      join players p on p.player_id = h.player_id and p.project_id = h.project_id and p.tenant_id = ${tenant_id}
      where p.deleted_at is null) as is_held`;
}
