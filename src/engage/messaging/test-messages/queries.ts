import type { PendingQuery } from 'postgres';
import type { RuleProduct } from '../../../bonuses/licence/rule.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { dialled } from '../../../players/exclusions/address-queries.ts';
import type { Channel } from '../../../tenants/config/channels.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { verdictSql, type Gate } from '../gate-queries.ts';
import type { SkipCode } from '../send-row.ts';
import { isSameAddressSql } from '../suppression-queries.ts';

/**
 * The gate's code why the player must get no message at `recipient` about a bonus of `product` (null: about none); null: it may. No row: the project has no such
 * player.
 */
export function selectVerdict(
  tx: Tx,
  project: ProjectRef,
  player_id: string,
  gate: Gate,
  recipient: string,
  product: RuleProduct | null,
): PendingQuery<{ verdict: SkipCode | null }[]> {
  return tx<{ verdict: SkipCode | null }[]>`
    select ${verdictSql(tx, gate, tx`${recipient}::text`, tx`${product}::text`)} as verdict
    from players p
    where p.tenant_id = ${project.tenant_id} and p.project_id = ${project.project_id} and p.player_id = ${player_id}`;
}

/** A row when the address is suppressed on the channel. */
export function selectSuppressed(
  tx: Tx,
  tenant_id: string,
  channel: Channel,
  recipient: string,
): PendingQuery<{ reason: string }[]> {
  return tx<{ reason: string }[]>`
    select reason from suppressions x
    where x.tenant_id = ${tenant_id} and ${isSameAddressSql(tx, channel, tx`${recipient}::text`)}`;
}

/**
 * The codes why players of the project with this address must get no messages; no rows: no such player is excluded. An
 * email address matches in any case of its letters, a telephone number with or without separators and prefixes. Deleted
 * players count too.
 */
export function selectAddresseeVerdicts(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  channel: Channel,
  recipient: string,
  now: Date,
): PendingQuery<{ verdict: SkipCode }[]> {
  const isTheirs = {
    email: tx`lower(p.email) = lower(${recipient}::text)`,
    sms: tx`${dialled(tx, tx`p.phone`)} = ${dialled(tx, tx`${recipient}::text`)}`,
    push: tx`p.custom_attributes ->> 'push_token' = ${recipient}`,
  };
  // The condition in brackets implies that of the partial index players_not_contactable, so few rows are read.
  return tx<{ verdict: SkipCode }[]>`
    select distinct case
      when p.self_excluded or p.status = 'self_excluded' then 'SKIPPED_SELF_EXCLUDED'
      when p.status = 'banned' then 'SKIPPED_BANNED'
      else 'SKIPPED_COOLDOWN' end as verdict
    from players p
    where p.tenant_id = ${tenant_id} and p.project_id = ${project_id}
      and (p.self_excluded or p.status in ('self_excluded', 'banned') or p.cooldown_until > ${now})
      and ${isTheirs[channel]}`;
}
