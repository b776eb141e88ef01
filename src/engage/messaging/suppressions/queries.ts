import { CHANNELS, type Channel } from '../../../tenants/config/channels.ts';
import {
  beyond,
  microseconds,
  type Listed,
  type PageOf,
  type TimePosition,
} from '../../../platform/postgres/keyset.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { keyOfText } from '../../../protection/exclusions/address-queries.ts';
import { isSameAddressSql } from '../suppression-queries.ts';
import type { SuppressionReason } from './schema.ts';

/** A suppressed address of a tenant. */
export interface SuppressionRow {
  suppression_id: string;
  channel: Channel;
  address: string;
  reason: SuppressionReason;
  created_at: Date;
}

export interface SuppressionFilters {
  channel?: Channel | undefined;
  reason?: SuppressionReason | undefined;
  address?: string | undefined;
}

/** A page of the suppressions of the tenant, the newest first. */
export function listSuppressions(
  tx: Tx,
  tenant_id: string,
  { channel, reason, address }: SuppressionFilters,
  after: TimePosition | undefined,
  limit: number,
): PageOf<SuppressionRow> {
  const nothing = tx``;
  // One statement per channel, each with the index of its own.
  const theirs = CHANNELS.map((one) => {
    const given = { tenant_id: tx`${tenant_id}`, channel: one, key: keyOfText(tx, one, address ?? '') };
    return tx`select x.suppression_id from suppressions x where ${isSameAddressSql(tx, given)}`;
  }).reduce((a, b) => tx`${a} union all ${b}`);
  return tx<Listed<SuppressionRow>[]>`
    select suppression_id, channel, address, reason, created_at, ${microseconds(tx, 'created_at')} as created_us
    from suppressions x
    where tenant_id = ${tenant_id}
      ${channel === undefined ? nothing : tx`and channel = ${channel}`}
      ${reason === undefined ? nothing : tx`and reason = ${reason}`}
      ${address === undefined ? nothing : tx`and suppression_id in (${theirs})`}
      ${beyond(tx, 'created_at', 'suppression_id', after)}
    order by created_at desc, suppression_id desc limit ${limit}`;
}

/** The suppression of an address on a channel, if there is one. */
export async function findSuppression(
  tx: Tx,
  { tenant_id, channel, address }: { tenant_id: string; channel: Channel; address: string },
): Promise<SuppressionRow | undefined> {
  const [row] = await tx<SuppressionRow[]>`
    select suppression_id, channel, address, reason, created_at from suppressions x
    where ${isSameAddressSql(tx, { tenant_id: tx`${tenant_id}`, channel, key: keyOfText(tx, channel, address) })}`;
  return row;
}

/** Removes a suppression; undefined when the tenant has none of this id. */
export async function deleteSuppression(
  tx: Tx,
  { tenant_id, suppression_id }: { tenant_id: string; suppression_id: string },
): Promise<SuppressionRow | undefined> {
  const [row] = await tx<SuppressionRow[]>`
    delete from suppressions where suppression_id = ${suppression_id} and tenant_id = ${tenant_id}
    returning suppression_id, channel, address, reason, created_at`;
  return row;
}
