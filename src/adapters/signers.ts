import { TransactionBatcher } from '../platform/transaction-batcher.ts';
import { API_READS } from '../platform/postgres/limits.ts';
import type { Db } from '../platform/postgres/port.ts';
import { selectSigners, type SignerRow } from './secret-queries.ts';

/** The most slugs of one look-up. */
const MAX_SLUGS = 100;

interface Asked {
  slug: string;
  now: Date;
}

/** Looks up adapters with their secrets. Nothing is kept: what is asked while look-ups are under way is asked in one. */
export class Signers {
  readonly #batcher: TransactionBatcher<Asked, SignerRow[]>;

  constructor(lookups: Db) {
    const { max_waiting, max_wait_ms } = API_READS.waiting;
    this.#batcher = new TransactionBatcher(
      {
        kindOf: () => '',
        // The tenant is known only afterwards.
        groupOf: () => '',
        namesOf: () => [],
        runBatch: async (asked) => {
          const slugs = [...new Set(asked.map(({ slug }) => slug))];
          const first = new Date(Math.min(...asked.map(({ now }) => now.getTime())));
          const rows = await selectSigners(lookups, slugs, first);
          return asked.map(({ slug, now }) => ({
            kind: 'done',
            value: rows.filter((row) => row.slug === slug).map((row) => validAt(row, now)),
          }));
        },
      },
      {
        max_size: MAX_SLUGS,
        overlap_after_ms: 0,
        waiting: { max_waiting, max_waiting_of_group: max_waiting, max_wait_ms },
      },
    );
  }

  /** The adapter of the slug, of any tenant, with each secret that is valid at `now`; no row: there is none. */
  find(slug: string, now: Date): Promise<SignerRow[]> {
    return this.#batcher.run({ slug, now });
  }
}

/** The row without a secret that has expired meanwhile. */
function validAt(row: SignerRow, now: Date): SignerRow {
  const is_expired = row.secret_id !== null && row.expires_at !== null && row.expires_at <= now;
  return is_expired ? { ...row, secret_id: null } : row;
}
