import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { LetterPosition, ReplayState } from './schema.ts';

/** The key of a position in maps. */
export function positionKey({ partition, offset }: LetterPosition): string {
  return `${partition}:${offset}`;
}

interface ReplayRow {
  partition: number;
  log_offset: bigint;
  finished: boolean;
}

/** The replay state of the letters at these positions, by {@link positionKey}; a letter never replayed is absent. */
export async function readReplays(
  tx: Tx,
  positions: readonly LetterPosition[],
): Promise<Map<string, ReplayState>> {
  const rows = await tx<ReplayRow[]>`
    select r.partition, r.log_offset, r.finished_at is not null as finished
    from ${positionRows(tx, 'wanted', positions)}
    join dead_letter_replays r using (partition, log_offset)`;
  return new Map(
    rows.map(({ partition, log_offset, finished }) => [
      positionKey({ partition, offset: String(log_offset) }),
      finished ? 'replayed' : 'unknown',
    ]),
  );
}

/**
 * Marks that these letters are about to be replayed; returns the {@link positionKey}s of the letters that this call
 * marked: the caller replays those alone. Without `force` a letter that was marked before is not marked again, so
 * two concurrent replays send it once.
 */
export async function startReplays(
  tx: Tx,
  positions: readonly LetterPosition[],
  force: boolean,
  now: Date,
): Promise<Set<string>> {
  const again = force
    ? tx`do update set started_at = excluded.started_at, finished_at = null`
    : tx`do nothing`;
  const rows = await tx<{ partition: number; log_offset: bigint }[]>`
    insert into dead_letter_replays (partition, log_offset, started_at)
    select partition, log_offset, ${now}
    from ${positionRows(tx, 'wanted', positions)}
    order by partition, log_offset
    on conflict (partition, log_offset) ${again}
    returning partition, log_offset`;
  return new Set(
    rows.map(({ partition, log_offset }) => positionKey({ partition, offset: String(log_offset) })),
  );
}

/** Marks that the replay of these letters is on the log. */
export async function finishReplays(tx: Tx, positions: readonly LetterPosition[], now: Date): Promise<void> {
  await tx`
    update dead_letter_replays r set finished_at = ${now}
    from ${positionRows(tx, 'done', positions)}
    where r.partition = done.partition and r.log_offset = done.log_offset`;
}

/** Those of the ids that are ids of tenants, in ascending order. */
export async function selectKnownTenants(tx: Tx, tenant_ids: readonly string[]): Promise<string[]> {
  const rows = await tx<{ tenant_id: string }[]>`
    select tenant_id from tenants where tenant_id = any(${plainArray(tenant_ids)}::text::uuid[])
    order by tenant_id`;
  return rows.map(({ tenant_id }) => tenant_id);
}

function positionRows(tx: Tx, alias: string, positions: readonly LetterPosition[]) {
  return rowsOf(tx, alias, positions, {
    partition: 'integer',
    log_offset: ['bigint', (p) => BigInt(p.offset)],
  });
}
