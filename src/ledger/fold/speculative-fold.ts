import type { LogBatch } from '../../platform/event-log/port.ts';
import type { Effects, Emission } from './effects.ts';
import { applyPart, foldBatch, parseAll, type FoldContext, type PrecedingPart } from './fold-batch.ts';

/** A part of a batch that is being folded. */
export interface Folding {
  /** What it does, before that is written; undefined: the part has to be applied before the next one can be started. */
  decided: Promise<PrecedingPart | undefined>;
  /** What is to be emitted, once all of the part is applied. */
  applied: Promise<Emission>;
}

/**
 * Starts to fold a part. With `preceding` it is read and decided while the part before is being written: Node works
 * while Postgres does. That is an attempt: when it fails, or the one before does, {@link foldBatch} folds the part, with its
 * retries and errors, after `applied_preceding`. `emitted` gives the offset below which everything was emitted.
 */
export function startFolding(
  context: FoldContext,
  part: LogBatch,
  emitted: () => bigint,
  {
    preceding,
    applied_preceding,
  }: { preceding: PrecedingPart | undefined; applied_preceding: Promise<unknown> },
): Folding {
  let onDecided: (preceding: PrecedingPart | undefined) => void = () => undefined;
  let onCommitted: (is_committed: boolean) => void = () => undefined;
  const decided = new Promise<PrecedingPart | undefined>((resolve) => (onDecided = resolve));
  const committed = new Promise<boolean>((resolve) => (onCommitted = resolve));
  const fold = async (): Promise<Emission> => {
    const emission = await attempt(context, part, emitted, preceding, (effects) =>
      onDecided({ effects, committed }),
    ).catch((error: unknown) => {
      context.logger.debug({ err: error }, 'a part is folded again, after the part before it');
      return undefined;
    });
    onCommitted(emission !== undefined);
    // Changes nothing where it was decided.
    onDecided(undefined);
    if (emission !== undefined) return emission;
    await applied_preceding;
    return foldBatch(context, part, emitted());
  };
  return { decided, applied: fold() };
}

/** Undefined: the position is not known, so that it has to be read first. */
async function attempt(
  context: FoldContext,
  { topic, partition, from, records }: LogBatch,
  emitted: () => bigint,
  preceding: PrecedingPart | undefined,
  onDecided: (effects: Effects) => void,
): Promise<Emission | undefined> {
  if (preceding === undefined && context.positions.get(partition) !== from) return undefined;
  const next = (records.at(-1)?.offset ?? from) + 1n;
  try {
    const part = { topic, partition, records, read: from, next, emitted: emitted() };
    return await applyPart(context, part, parseAll(records), preceding, onDecided);
  } catch (error) {
    context.positions.delete(partition);
    throw error;
  }
}
