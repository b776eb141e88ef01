import type { z } from 'zod';
import { ApiError } from '../../errors.ts';
import type { Auditing } from '../../http/audit.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { requireDirection, requirePast } from './manual-rate.ts';
import { insertNewRates } from './queries.ts';
import { importedRate, type ImportReport, type ImportRatesBody } from './schema.ts';

type Rate = z.infer<typeof importedRate>;
type Result = ImportReport['results'][number];

/**
 * Stores rates of a tenant as manual ones, by the rules of a single one, and gives a verdict for each: sent again, all
 * are `known`. Events since their times are restated. Rejects only when Postgres fails.
 */
export async function importRates(
  { clock, audit }: { clock: Clock } & Auditing,
  tx: Tx,
  { tenant_id, rates }: ImportRatesBody,
): Promise<ImportReport> {
  const refusals = new Refusals(tx, tenant_id, clock.now_ms());
  const read: (Rate | string)[] = [];
  for (const rate of rates) read.push(await refusals.check(rate));
  const usable = read.filter((rate) => typeof rate !== 'string');
  const timed = usable.map(({ ts, ...rate }) => ({ ...rate, ts_ms: Date.parse(ts) }));
  const inserted = timed.length > 0 ? await insertNewRates(tx, tenant_id, timed) : [];
  const stored = inserted.filter(({ is_new }) => is_new).length;
  if (stored > 0)
    await audit(tx, {
      tenant_id,
      project_id: null,
      resource_id: tenant_id,
      before: null,
      after: { upserted: stored },
    });
  const verdicts = inserted.values();
  return {
    results: read.map((rate): Result => {
      if (typeof rate === 'string') return { status: 'refused', message: rate };
      const verdict = verdicts.next().value;
      if (verdict?.is_new === true) return { status: 'stored' };
      if (verdict?.is_same === true) return { status: 'known' };
      return { status: 'refused', message: 'the pair has another rate of this very time' };
    }),
  };
}

/** Why rates are refused; a pair is looked up once. */
class Refusals {
  #directions = new Map<string, string | undefined>();
  readonly #tx: Tx;
  readonly #tenant_id: string;
  readonly #now_ms: number;

  constructor(tx: Tx, tenant_id: string, now_ms: number) {
    this.#tx = tx;
    this.#tenant_id = tenant_id;
    this.#now_ms = now_ms;
  }

  /** The rate, or the message that refuses it. */
  async check(given: unknown): Promise<Rate | string> {
    const parsed = importedRate.safeParse(given);
    if (!parsed.success)
      return parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
    const rate = parsed.data;
    const pair = `${rate.base}/${rate.quote}`;
    if (!this.#directions.has(pair))
      this.#directions.set(pair, await messageOf(() => requireDirection(this.#tx, this.#tenant_id, rate)));
    const refusal =
      this.#directions.get(pair) ??
      (await messageOf(async () => requirePast(Date.parse(rate.ts), this.#now_ms)));
    return refusal ?? rate;
  }
}

/** Why the check refuses; undefined when it does not. Rejects with other errors than those of the API. */
async function messageOf(check: () => Promise<void>): Promise<string | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.message;
  }
}
