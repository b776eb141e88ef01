import type { Tx } from './port.ts';

/**
 * Makes the commit of the transaction asynchronous: others see it at once, and if Postgres crashes within a second, it may be
 * lost. Only for what is then done again with the same result. Each later commit that is not asynchronous, of whichever
 * transaction, puts this one on disk, too.
 */
export function commitLater(tx: Tx): void {
  void tx`set local synchronous_commit = off`.execute();
}

/** Makes the commit of the transaction wait for the disk although it changes nothing: all earlier commits are then on disk. */
export async function flushCommits(tx: Tx): Promise<void> {
  await tx`select pg_logical_emit_message(true, 'flush', '')`;
}
