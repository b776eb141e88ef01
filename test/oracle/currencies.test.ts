import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { internally } from '../engines/http-client.ts';
import { startTestService, type TestService, type TestTenant } from '../engines/service.ts';
import { FrontDoor, newSenders, shown, shuffle } from './front-door.ts';
import { Oracle } from './oracle.ts';
import { OracleRates } from './rates.ts';
import type { MoneyTotal } from './references.ts';
import { CURRENCIES, RateOperator, rateStepsOf } from './rate-steps.ts';
import { runs } from '../engines/effort.ts';
import { mixedMarket, streamOf, toEvents } from './streams.ts';

const PLAYERS = 120;
const EVENTS = 500;
const RATE_STEPS = 70;
const CONNECTIONS = 6;
const RUNS = runs(2);

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

it.each(['EUR', 'JPY', 'KWD', 'BTC'])(
  'keeps totals in %s that follow from events and rates alone, in whatever order both arrive and change',
  async (base_currency) => {
    const seen = { converted: 0, inverse: 0, pending: 0, adjusted: 0, reversed: 0, bonus: 0 };
    await fc.assert(
      fc.asyncProperty(
        streamOf(PLAYERS, EVENTS, false),
        rateStepsOf(RATE_STEPS),
        fc.nat(),
        async (steps, rateSteps, order) => {
          const tenant = await service.newTenant(base_currency);
          const rates = new OracleRates();
          const oracle = new Oracle(base_currency, rates);
          const { service: sql } = service.platform.postgres;
          const operator = new RateOperator(sql, tenant.tenant_id, base_currency, rates);
          const door = await FrontDoor.open(service, tenant);
          const senders = newSenders(PLAYERS);
          for (const [i, sender] of senders.entries())
            if (i % 3 === 0) await door.identify(sender, oracle, i);
          await operator.take(rateSteps, 'before');
          const events = toEvents(steps, senders, [], mixedMarket(base_currency, CURRENCIES));
          const answers = new Answers();
          await Promise.all([
            sendInParts(door, shuffle(events, order), answers),
            operator.take(rateSteps, 'during', () => answers.next()),
          ]);
          await operator.take(rateSteps, 'after');
          for (const event of events) oracle.take(event);

          expect(await differences(tenant)).toEqual([]);
          expect(await door.players()).toEqual(shown(oracle));
          const ledger = await readLedger(tenant);
          expect(ledger.flatMap((row) => faultsOf(row, base_currency, rates))).toEqual([]);
          expect(await readAnalytics(tenant)).toEqual(amountsByEvent(ledger));
          expect(await readCounted(tenant)).toEqual(await readTotals(tenant));
          for (const row of ledger) {
            if (row.rate !== null) seen.converted++;
            if (row.rate_is_inverse === true) seen.inverse++;
            if (row.event.endsWith('_reversed') && row.rate !== null) seen.reversed++;
            if (row.rate !== null && (row.base_bonus_stake ?? row.base_bonus_payout ?? 0n) > 0n) seen.bonus++;
            if (row.amount !== null && row.base_amount === null) seen.pending++;
          }
          seen.adjusted += await countAdjustments(tenant);
        },
      ),
      { numRuns: RUNS, endOnFailure: true },
    );
    for (const [what, rows] of Object.entries(seen)) expect(rows, what).toBeGreaterThan(0);
  },
  120_000 * Math.max(1, RUNS / 2),
);

/** Signals each completed part of the sending: a transaction that awaits `next` stays open while events are folded. */
class Answers {
  #waiting: (() => void)[] = [];
  #over = false;

  next(): Promise<void> {
    return this.#over ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  came(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  end(): void {
    this.#over = true;
    this.came();
  }
}

async function sendInParts(
  door: FrontDoor,
  events: Parameters<FrontDoor['send']>[0],
  answers: Answers,
): Promise<void> {
  const part = Math.ceil(events.length / 8);
  try {
    for (let next = 0; next < events.length; next += part) {
      await door.sendOver(CONNECTIONS, events.slice(next, next + part));
      answers.came();
    }
  } finally {
    answers.end();
  }
}

/** The differences that reconcile lists after every processor has caught up. */
async function differences({ tenant_id }: TestTenant): Promise<unknown> {
  const response = await internally(service, 'reconcile', { tenant_id });
  const text = response.text;
  expect(response.status, text).toBe(200);
  return (JSON.parse(text) as { data: { listed: unknown } }).data.listed;
}

interface Row {
  event: string;
  reference: string;
  ingestion_id: string;
  event_index: number;
  occurred_ms: bigint;
  currency: string | null;
  amount: string | null;
  payout: string | null;
  bonus_stake: string | null;
  bonus_payout: string | null;
  base_amount: bigint | null;
  base_payout: bigint | null;
  base_bonus_stake: bigint | null;
  base_bonus_payout: bigint | null;
  rate: string | null;
  rate_ms: bigint | null;
  rate_is_inverse: boolean | null;
  /** Whether the table of rates contains the rate that the row names. */
  rate_is_known: boolean;
}

async function readLedger({ tenant_id }: TestTenant): Promise<Row[]> {
  return service.platform.postgres.service<Row[]>`
    select l.event, l.reference, l.ingestion_id, l.event_index, epoch_ms(l.occurred_at) as occurred_ms, l.currency,
      l.amount::text, l.payout::text, l.bonus_stake::text, l.bonus_payout::text, l.base_amount, l.base_payout,
      l.base_bonus_stake, l.base_bonus_payout, l.rate::text, epoch_ms(l.rate_ts) as rate_ms,
      l.rate_is_inverse, f.rate is not null as rate_is_known
    from ledger l
    join projects p using (project_no)
    join tenants t using (tenant_id)
    left join fx_rates f on f.tenant_id = p.tenant_id and f.ts = l.rate_ts and f.rate = l.rate
      and f.base = case when l.rate_is_inverse then t.base_currency else l.currency end
      and f.quote = case when l.rate_is_inverse then l.currency else t.base_currency end
    where p.tenant_id = ${tenant_id}`;
}

/** The row and its expected values, where it differs from the result of the current rates; otherwise empty. */
function faultsOf(row: Row, base_currency: string, rates: OracleRates): unknown[] {
  const { currency } = row;
  const worth = (sent: string | null) =>
    sent === null
      ? null
      : (rates.convert(BigInt(sent), currency ?? '', base_currency, Number(row.occurred_ms)) ?? null);
  const base_amount = worth(row.amount);
  const base_payout = worth(row.payout);
  // A part waits with its whole.
  const base_bonus_stake = base_amount === null ? null : worth(row.bonus_stake);
  const base_bonus_payout = base_payout === null ? null : worth(row.bonus_payout);
  const isConverted =
    currency !== null &&
    currency !== base_currency &&
    ((BigInt(row.amount ?? 0) > 0n && base_amount !== null) ||
      (BigInt(row.payout ?? 0) > 0n && base_payout !== null));
  const used = isConverted ? rates.at(currency, base_currency, Number(row.occurred_ms)) : undefined;
  const isRight =
    row.base_amount === base_amount &&
    row.base_payout === base_payout &&
    row.base_bonus_stake === base_bonus_stake &&
    row.base_bonus_payout === base_bonus_payout &&
    row.rate_is_known === isConverted &&
    sameNumber(row.rate, used?.rate ?? null) &&
    row.rate_ms === (used === undefined ? null : BigInt(used.ts_ms)) &&
    row.rate_is_inverse === (used?.is_inverse ?? null);
  return isRight
    ? []
    : [{ ...row, expected: { base_amount, base_payout, base_bonus_stake, base_bonus_payout, used } }];
}

/** Trailing zeros make no difference. */
function sameNumber(a: string | null, b: string | null): boolean {
  const short = (text: string | null) => (text?.includes('.') ? text.replace(/\.?0+$/, '') : text);
  return short(a) === short(b);
}

type Amounts = Map<string, string>;

function amountsByEvent(ledger: readonly Row[]): Amounts {
  return new Map(
    ledger.map((row) => [
      `${row.ingestion_id} ${row.event_index}`,
      [row.event, row.base_amount, row.base_payout, row.base_bonus_stake, row.base_bonus_payout].join(' '),
    ]),
  );
}

/** The amounts in ClickHouse of the events that the ledger has. Both tables must agree. */
async function readAnalytics({ tenant_id }: TestTenant): Promise<Amounts> {
  const read = async (table: string) => {
    const rows = await service.platform.clickhouse.query<Row>(
      `select event, ingestion_id, event_index, base_amount, base_payout, base_bonus_stake, base_bonus_payout
       from ${table} final
       where tenant_id = {tenant_id:UUID} and
         (event like 'sport_%' or match(event, '^bet_|^balance_|^(deposit|withdrawal)_(initiated|requested|confirmed|failed|reversed)'))
         and (JSONHas(properties, 'bet_id') or JSONHas(properties, 'transaction_id'))`,
      { tenant_id },
    );
    const amounts = amountsByEvent(rows);
    expect(amounts.size).toBe(rows.length);
    return amounts;
  };
  const byEvent = await read('events');
  expect(await read('events_by_player')).toEqual(byEvent);
  return byEvent;
}

type MoneyTotals = Record<MoneyTotal, string>;

/** The totals that the events of each player in ClickHouse add up to; all events of a reference are of one player. */
async function readCounted({ tenant_id }: TestTenant): Promise<Map<string, MoneyTotals>> {
  const is_bet = `match(event, '^(sport_)?(bet_|cashout)')`;
  const counted = (column: string, condition: string) =>
    `sumIf(toInt128(ifNull(${column}, 0)), ${condition})`;
  const net = (kind: string) =>
    `toString(${counted('stake_counted', `event = '${kind}_confirmed'`)} - ${counted('stake_counted', `event = '${kind}_reversed'`)})`;
  const of = (column: string, condition = is_bet) => `toString(${counted(column, condition)})`;
  const rows = await service.platform.clickhouse.query<MoneyTotals & { player_id: string }>(
    `select toString(player_id) as player_id, ${net('deposit')} as total_deposited, ${net('withdrawal')} as total_withdrawn,
      ${of('stake_counted')} as total_wagered, ${of('payout_counted')} as total_won,
      ${of('bonus_stake_counted')} as total_bonus_wagered, ${of('bonus_payout_counted')} as total_bonus_won,
      ${of('stake_counted', "event = 'balance_credited'")} as total_credited,
      ${of('stake_counted', "event = 'balance_debited'")} as total_debited
    from events final where tenant_id = {tenant_id:UUID} group by player_id`,
    { tenant_id },
  );
  return thatCount(rows);
}

/** The totals of the players. */
async function readTotals({ tenant_id }: TestTenant): Promise<Map<string, MoneyTotals>> {
  const rows = await service.platform.postgres.service<(MoneyTotals & { player_id: string })[]>`
    select player_id, total_deposited::text, total_withdrawn::text, total_wagered::text, total_won::text,
      total_bonus_wagered::text, total_bonus_won::text, total_credited::text, total_debited::text
    from player_totals where tenant_id = ${tenant_id}`;
  return thatCount(rows);
}

/** By player, without players of whom nothing counts: not every player has events. */
function thatCount(rows: readonly (MoneyTotals & { player_id: string })[]): Map<string, MoneyTotals> {
  const all = rows.map(({ player_id, ...totals }) => [player_id, totals] as const);
  return new Map(all.filter(([, totals]) => Object.values(totals).some((total) => total !== '0')));
}

async function countAdjustments({ tenant_id }: TestTenant): Promise<number> {
  const rows = await service.platform.postgres.service`
    select from ledger_adjustments where tenant_id = ${tenant_id}`;
  return rows.length;
}
