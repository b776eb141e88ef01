import { BackOff } from '../../platform/back-off.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { takeRange, type MemberRange, type RangeKind } from './range-queries.ts';

/** Works through a range within the transaction that has removed it; `rest`: its owner has no turn for a while. */
export type WorkRange = (tx: Tx, range: MemberRange) => Promise<'done' | 'rest'>;

/**
 * Works through the ranges of members of one kind (spec part 4). Their owners take turns, range by range; one whose range
 * fails has no turn for a while, and the others go on.
 */
export class MemberRanges {
  readonly #platform: Pick<Platform, 'postgres' | 'logger'>;
  readonly #kind: RangeKind;
  readonly #back_off = new BackOff();
  #last: string | undefined;

  constructor(platform: Pick<Platform, 'postgres' | 'logger'>, kind: RangeKind) {
    this.#platform = platform;
    this.#kind = kind;
  }

  /**
   * Takes the next range and works through it in one transaction, so after a crash the range waits again. `none`: none
   * waits; `failed`: nothing is known to be committed. `prepare` runs before each attempt of the transaction.
   */
  async turn(prepare: () => Promise<WorkRange>): Promise<'none' | 'worked' | 'failed'> {
    const { postgres, logger } = this.#platform;
    let taken: MemberRange | undefined;
    try {
      const outcome = await retryConflicts(async () => {
        const work = await prepare();
        return postgres.service.begin(async (tx) => {
          taken = await takeRange(tx, this.#kind, this.#last, this.#back_off.keys());
          if (taken === undefined) return 'none';
          this.#last = taken.owner_id;
          return work(tx, taken);
        });
      });
      if (outcome === 'rest' && taken !== undefined) this.#back_off.begin(taken.owner_id);
      return outcome === 'none' ? 'none' : 'worked';
    } catch (error) {
      if (taken === undefined) throw error;
      const { owner_id } = taken;
      const { work } = this.#kind;
      this.#back_off.begin(owner_id);
      logger.warn(
        { err: error, [`${work}_id`]: owner_id },
        `a range of members failed; the ${work} backs off`,
      );
      return 'failed';
    }
  }
}
