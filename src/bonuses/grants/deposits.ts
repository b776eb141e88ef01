import { readLedger } from '../../ledger/fold/read-queries.ts';
import { referenceKey } from '../../ledger/fold/fold-event.ts';
import { byKind } from '../../ledger/money/counting.ts';
import { transactionEffect } from '../../ledger/money/transactions.ts';
import { newId } from '../../platform/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Db } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { createAuditWriter } from '../../tenants/audit/write.ts';
import type { LiveGrant } from './call-queries.ts';
import { markDepositReversed, selectReversed, type DepositRef } from './deposit-queries.ts';
import { grantJson, type GrantRef } from './grant-row.ts';
import { lockGrant } from './queries.ts';
import { isLive } from './transition.ts';

/**
 * What is left of those of the deposits that were reversed in part or to 0 (docs/feeds.md, What counts how), in the smallest unit of their own
 * currency, by {@link referenceKey}. The others, and those that the ledger does not have, are not in it.
 */
export async function leftOfReversed(sql: Db, deposits: readonly DepositRef[]): Promise<Map<string, bigint>> {
  if (deposits.length === 0) return new Map();
  const reversed = await selectReversed(sql, deposits);
  const ledger = await sql.begin((tx) => readLedger(tx, reversed));
  const left = new Map<string, bigint>();
  for (const [key, rows] of ledger) {
    const effect = transactionEffect('deposit', byKind(rows).get('deposit') ?? []);
    if (effect.left !== null) left.set(key, effect.left);
  }
  return left;
}

/**
 * Marks for review those of the live grants whose deposit is reversed to 0, each once, with a row of the audit log: a
 * function of what the ledger has, so that the order of deposit, reversal and grant does not matter, nor who sent which.
 * Nothing is cancelled. A grant that cannot be marked is logged; it stays to be looked at, and the others go on.
 */
export async function reviewReversedDeposits(
  { postgres, clock, logger, metrics }: Pick<Platform, 'postgres' | 'clock' | 'logger' | 'metrics'>,
  grants: readonly LiveGrant[],
): Promise<void> {
  const open = grants.flatMap(({ deposit_transaction_id: reference, deposit_reversed_at, ...grant }) =>
    reference === null || deposit_reversed_at !== null ? [] : [{ ...grant, reference }],
  );
  const left = await leftOfReversed(postgres.service, open);
  const writeAuditRows = createAuditWriter(clock);
  const mark = async (seen: GrantRef) =>
    postgres.service.begin(async (tx) => {
      const before = await lockGrant(tx, seen);
      if (before === undefined || !isLive(before.status) || before.deposit_reversed_at !== null) return false;
      const after = await markDepositReversed(tx, before, new Date(clock.now_ms()));
      const { tenant_id, project_id, grant_id: resource_id } = before;
      const change = {
        tenant_id,
        project_id,
        resource_id,
        before: grantJson(before),
        after: grantJson(after),
      };
      const call = { resource: 'bonus_grant', action: 'update', session: null, request_id: newId() } as const;
      await writeAuditRows(tx, [{ call, change }]);
      return true;
    });
  for (const { reference, tenant_id, project_id, grant_id } of open) {
    if (left.get(referenceKey(project_id, reference)) !== 0n) continue;
    try {
      const is_marked = await retryConflicts(() => mark({ tenant_id, project_id, grant_id }));
      if (is_marked) metrics.bonusDepositsReversed.inc();
    } catch (error) {
      logger.error(
        { err: error, tenant_id, project_id, grant_id },
        'a bonus whose deposit is reversed could not be marked for review; it is tried again',
      );
    }
  }
}
