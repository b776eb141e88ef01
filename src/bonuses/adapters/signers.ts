import { Lots } from '../../platform/lots.ts';
import { API_READS } from '../../platform/postgres/limits.ts';
import type { Db } from '../../platform/postgres/port.ts';
import { selectSigners, type SignerRow } from './secret-queries.ts';

/** Look-ups that run at once, and the most slugs of one. */
const LOOKUPS = 2;
const MAX_SLUGS = 100;

interface Asked {
  slug: string;
  now: Date;
}

/** Looks up adapters with their secrets. Nothing is kept: what is asked while look-ups are under way is asked in one. */
export class Signers {
  readonly #lots: Lots<Asked, SignerRow[]>;

  constructor(lookups: Db) {
    const limits = {
      max_items: MAX_SLUGS,
      max_running: LOOKUPS,
      beside_after_ms: 0,
      waiting: API_READS.waiting,
    };
    this.#lots = new Lots('a look-up of adapters', limits, async (_group, take) => {
      const asked = take();
      const slugs = [...new Set(asked.map(({ slug }) => slug))];
      const first = new Date(Math.min(...asked.map(({ now }) => now.getTime())));
      const rows = await selectSigners(lookups, slugs, first);
      return asked.map(
        ({ slug, now }) =>
          () =>
            rows.filter((row) => row.slug === slug).map((row) => validAt(row, now)),
      );
    });
  }

  /** The adapter of the slug, of whatever tenant, with each secret that is valid at `now`; no row: there is none. */
  find(slug: string, now: Date): Promise<SignerRow[]> {
    return this.#lots.add('', '', { slug, now });
  }
}

/** The row without a secret that has expired meanwhile. */
function validAt(row: SignerRow, now: Date): SignerRow {
  const is_expired = row.secret_id !== null && row.expires_at !== null && row.expires_at <= now;
  return is_expired ? { ...row, secret_id: null } : row;
}
