import { ratesWithin } from '../../../ledger/fx/latest-rate.ts';
import { divideHalfEven, factorOf, type ExactRate } from '../../../ledger/money/conversion.ts';
import { amountOf, claimOf } from '../../../ledger/money/ledger.ts';
import { isObject } from '../../../platform/json-object.ts';
import { isMoneyProperty } from '../../../segments/language/fields.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { Definition } from '../graph/shapes.ts';
import { contextValue, ownValue } from '../graph/where.ts';
import { selectTargets, type SentAmount } from './amount-queries.ts';
import type { LoadedVersion } from './definitions.ts';
import { versionKey, type RunningRow } from './run-row.ts';
import type { AmountUse, Facts } from './shapes.ts';
import { amountKey } from './turn.ts';

/** The amounts of a run's context that are money of a named currency, as {@link Facts.amounts} has them. */
export type Amounts = Facts['amounts'];
export const NO_AMOUNTS: Amounts = new Map();

/** Longer texts are not codes of a currency. */
const MAX_CURRENCY = 20;

/**
 * What amounts come to in the currency that asks, by the rate of their time: exact, rounded once, half to even. Null while
 * no rate is known. Undefined: the amount is a mere number, as one without a currency. It is compared, its event is not in
 * the ledger, and the tenant has no such currency, so that no rate can come.
 */
export async function worthOf(tx: Tx, sent: readonly SentAmount[]): Promise<(bigint | null | undefined)[]> {
  if (sent.length === 0) return [];
  const targets = await selectTargets(tx, sent);
  const target_of = new Map(targets.map((target) => [target.place, target]));
  const pairs = sent.map(({ tenant_id, currency, sent_ms }, place) => {
    const { target = currency, at_ms = BigInt(sent_ms) } = target_of.get(place) ?? {};
    return { tenant_id, base: currency, quote: target, at_ms: Number(at_ms) };
  });
  const rates = await ratesWithin(tx, pairs);
  return sent.map(({ amount, currency, template_id, reference }, place) => {
    const { target, from_scale = null, to_scale = null } = target_of.get(place) ?? {};
    if (target === currency || amount === 0n) return amount;
    if (from_scale === null && template_id === null && reference === null) return undefined;
    const rate = rates[place];
    if (rate === undefined || from_scale === null || to_scale === null) return null;
    return convert(amount, { steps: rate.steps, from_scale, to_scale });
  });
}

function convert(amount: bigint, rate: ExactRate): bigint {
  const { numerator, denominator } = factorOf(rate);
  return divideHalfEven(amount * numerator, denominator);
}

/** By run: what the amounts of its context come to that nodes of its version use. Runs without any are omitted. */
export async function readAmounts(
  tx: Tx,
  runs: readonly RunningRow[],
  versions: ReadonlyMap<string, LoadedVersion>,
  now_ms: number,
): Promise<ReadonlyMap<string, Amounts>> {
  const found: { run_id: string; key: string; sent: SentAmount }[] = [];
  for (const run of runs) {
    const { definition, uses } = versions.get(versionKey(run)) ?? {};
    for (const use of uses?.amounts ?? []) {
      const sent = definition && sentAt(run, definition, use, now_ms);
      if (sent !== undefined)
        found.push({ run_id: run.run_id, key: amountKey(use.path, use.template_id), sent });
    }
  }
  const worth = await worthOf(
    tx,
    found.map(({ sent }) => sent),
  );
  const amounts = new Map<string, Map<string, bigint | null>>();
  for (const [place, { run_id, key }] of found.entries()) {
    const amount = worth[place];
    if (amount === undefined) continue;
    const of_run = amounts.get(run_id) ?? new Map<string, bigint | null>();
    amounts.set(run_id, of_run.set(key, amount));
  }
  return amounts;
}

/** The amount at a path of the context; undefined: its object has no currency, so that it is a mere number. */
function sentAt(
  { tenant_id, project_id, context, started_at }: RunningRow,
  definition: Definition,
  { path, template_id }: AmountUse,
  now_ms: number,
): SentAmount | undefined {
  const holder = contextValue(context, path.slice(0, -1));
  const currency = ownValue(holder, 'currency');
  const amount = amountOf(ownValue(holder, path.at(-1) ?? ''));
  if (amount === undefined || typeof currency !== 'string' || currency === '') return undefined;
  if (currency.length > MAX_CURRENCY) return undefined;
  const event = eventAt(definition, path) ?? null;
  // A branch compares it as what it is on its event.
  const is_free = event !== null && template_id === undefined && !isMoneyProperty(path.at(-1) ?? '', event);
  if (is_free) return undefined;
  const reference = event === null || !isObject(holder) ? null : referenceOf(event, holder);
  // What a run was started with is as old as the run; what came later was not sent before it.
  const sent_ms = path[0] === 'trigger_payload' ? started_at.getTime() : now_ms;
  const of_event = { template_id: template_id ?? null, event, reference, sent_ms };
  return { tenant_id, project_id, currency, amount, ...of_event };
}

/** The name of the event whose properties a path leads into. */
function eventAt({ trigger, graph }: Definition, path: readonly string[]): string | undefined {
  if (path[0] === 'trigger_payload' && path.length === 2) {
    return trigger.kind === 'event' ? trigger.event : undefined;
  }
  if (path[0] !== 'events' || path.length !== 3) return undefined;
  const node = graph.nodes.get(path[1] ?? '');
  return node?.type === 'wait_for_event' ? node.event : undefined;
}

/** The id under which the ledger has the event; null: it has none. */
function referenceOf(event: string, properties: Record<string, unknown>): string | null {
  try {
    return claimOf(event, properties, 0)?.reference ?? null;
  } catch {
    return null;
  }
}
