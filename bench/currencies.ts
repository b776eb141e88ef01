import type { EventBody } from '../src/ingest/events/validate.ts';
import type { TestService } from '../test/engines/service.ts';
import { mixedEvents } from './events.ts';
import { foldEndToEnd } from './fold.ts';
import { alternate, median, perSecond, ratios, result, type Result, type Sample } from './measure.ts';
import { countConverted, seedRates } from './seed-queries.ts';

const EVENTS = 50_000;
const PLAYERS = 5_000;
const ROUNDS = 5;
/** This many of ten transactions or bets are in another currency. */
const FOREIGN_OF_TEN = 3;
const UNTIL_MS = Date.UTC(2026, 2, 1);
const DAYS = 30;
/** As providers publish them: fiat per euro, daily; the price of crypto in euros, hourly. */
const RATES = [
  { base: 'EUR', quote: 'SEK', rate: 11.25, every_hours: 24 },
  { base: 'EUR', quote: 'JPY', rate: 161.5, every_hours: 24 },
  { base: 'ETH', quote: 'EUR', rate: 3000.5, every_hours: 1 },
] as const;
const FOREIGN = ['SEK', 'JPY', 'ETH'] as const;

/**
 * The fold of events of which some are in other currencies, against the fold of the same events in the base currency
 * only. Both sets of events are spread over {@link DAYS} days, each event with its own time.
 */
export async function benchCurrencies(
  service: TestService,
  { events = EVENTS, players = PLAYERS, rounds = ROUNDS } = {},
): Promise<Result[]> {
  const { service: sql } = service.platform.postgres;
  for (const { every_hours, ...pair } of RATES) {
    const span = { until_ms: UNTIL_MS, days: 2 * DAYS, every_hours };
    await seedRates(sql, service.tenant_id, pair, span);
  }
  let round = 0;
  const run = async (label: string, foreign_of_ten: number): Promise<Sample> => {
    const sent = inCurrencies(mixedEvents(events, players, label), foreign_of_ten);
    const sample = await foldEndToEnd(service, sent);
    const foreign = sent.filter(({ properties }) => isForeign(properties?.['currency']));
    const { converted, waiting } = await countConverted(sql, service.tenant_id, `${label}-`);
    if (converted !== foreign.length || waiting > 0)
      throw new Error(`${converted} of ${foreign.length} rows were converted, ${waiting} wait`);
    return sample;
  };
  const pairs = await alternate(
    rounds,
    () => run(`m${round++}`, FOREIGN_OF_TEN),
    () => run(`e${round}`, 0),
  );
  const cpu_us = (side: 'a' | 'b') =>
    median(pairs.map((pair) => (pair[side].cpu_ms * 1000) / pair[side].items)).toFixed(1);
  const rate = (side: 'a' | 'b') => median(pairs.map((pair) => perSecond(pair[side]))).toFixed(0);
  return [
    result(
      `fold with ${FOREIGN_OF_TEN * 10} % in other currencies ÷ base currency only`,
      ratios(pairs, perSecond),
      { at_least: 0.85 },
      `${rate('a')} against ${rate('b')} events/s; ${cpu_us('a')} against ${cpu_us('b')} µs of CPU per event in this process`,
    ),
  ];
}

/** Gives each event its own time, and `foreign_of_ten` of ten bets and deposits another currency. */
function inCurrencies(events: readonly EventBody[], foreign_of_ten: number): EventBody[] {
  const step_ms = (DAYS * 86_400_000) / events.length;
  return events.map((event, i) => {
    const timestamp = new Date(UNTIL_MS - Math.floor((events.length - i) * step_ms)).toISOString();
    const { properties = {} } = event;
    const reference = properties['bet_id'] ?? properties['transaction_id'];
    if (typeof reference !== 'string') return { ...event, timestamp };
    const number = Number(/\d+$/.exec(reference)?.[0]);
    const currency = number % 10 < foreign_of_ten ? FOREIGN[number % 10] : undefined;
    return { ...event, timestamp, properties: { ...properties, ...(currency && { currency }) } };
  });
}

function isForeign(currency: unknown): boolean {
  return FOREIGN.some((code) => code === currency);
}
