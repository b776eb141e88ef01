import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sentJson, storedJson } from '../../src/analytics/stored-json.ts';
import { sumRealMoney } from '../../src/bonuses/grants/loss-queries.ts';
import { verdictOn } from '../../src/engage/journeys/runs/event-where.ts';
import { encodePlayerEvent, type EventMoney, type PlayerEvent } from '../../src/ingest/events/envelope.ts';
import { acceptBatch, acceptEvent, parseJsonBody } from '../../src/ingest/intake/accept.ts';
import { toPlayerEvent } from '../../src/ledger/fold/emitted-event.ts';
import { parseRecord } from '../../src/ledger/fold/fold-event.ts';
import { migrateClickHouse } from '../../src/platform/clickhouse/migrate.ts';
import type { ClickHouse } from '../../src/platform/clickhouse/port.ts';
import { parseExact } from '../../src/platform/exact-json.ts';
import { findMoneyEvents } from '../../src/players/history/ledger-queries.ts';
import { findTimeline } from '../../src/players/history/queries.ts';
import { readComparison } from '../../src/segments/language/comparison.ts';
import { readDefinition } from '../../src/segments/language/definition.ts';
import { compileMatrix } from '../../src/segments/sql/matrix.ts';
import { runs } from '../engines/effort.ts';
import { openTestClickHouse } from '../engines/wiring.ts';
import { decimalOf, jsonNumber } from '../platform/json-numbers.ts';

const AT_ONCE = 50;
/** Of these, the numbers that the others are compared with. */
const COMPARED = 8;
const RECEIVED_MS = Date.parse('2026-03-01T00:00:00Z');
const OPERATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in'] as const;

let clickhouse: ClickHouse;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'engagement-numbers-'));
  clickhouse = await openTestClickHouse(dir);
  await migrateClickHouse(clickhouse);
});
afterAll(async () => {
  await clickhouse?.close();
  await rm(dir, { recursive: true, force: true });
});

/** A player whose bet, and whose profile, has the number `sent`. */
interface Sent {
  player_id: string;
  bet_id: string;
  stake: number;
  sent: string;
}

const project = () => ({ tenant_id: randomUUID(), project_id: randomUUID() });

/** The event as a caller writes it, with another number under the same name in a deeper object. */
function bodyOf({ player_id, bet_id, stake, sent }: Sent, deeper: string): string {
  return (
    `{"event": "bet_settled", "player_id": "${player_id}", "properties": { "before": {"n": ${deeper}}, "n" : ${sent},` +
    ` "bet_id": "${bet_id}", "currency": "EUR", "game_id": "book", "game_category": "slots", "amount": ${stake},` +
    ` "payout": 0, "outcome": "lost", "list": [${sent},${deeper}], "after": {"n": ${deeper}} }}`
  );
}

/** The lines that the fold emits for requests with these bodies. */
function linesOf(ref: ReturnType<typeof project>, players: readonly Sent[]): string[] {
  const stamp = { ...ref, ingestion_id: randomUUID(), environment: 'test', received_at_ms: RECEIVED_MS };
  const context = { now_ms: RECEIVED_MS, hasCurrency: () => true };
  const bodies = players.map((one, i) => bodyOf(one, players[(i + 1) % players.length]?.sent ?? '0'));
  const half = Math.floor(players.length / 2);
  const batch = parseJsonBody(Buffer.from(`{"events":[${bodies.slice(0, half).join()}]}`));
  const accepted = [
    ...acceptBatch(batch, stamp, context).records,
    ...bodies
      .slice(half)
      .flatMap(
        (body) =>
          acceptEvent(parseJsonBody(Buffer.from(body)), { ...stamp, ingestion_id: randomUUID() }, context)
            .records,
      ),
  ];
  return accepted.map(({ key, value }, i) => {
    const parsed = parseRecord({ offset: BigInt(i), key, value });
    if (!('event' in parsed)) throw new Error(parsed.rejection.message);
    const stake = parsed.event.claim?.amount ?? null;
    const row = { base_amount: stake, base_payout: 0n, stake_counted: stake } as EventMoney;
    return encodePlayerEvent(toPlayerEvent(parsed.event, players[i]?.player_id ?? '', row));
  });
}

/** What comparisons see: an integer that was written with digits, or the shortest digits of a double; times 10^400. */
function seenAs(sent: string): bigint {
  const text = sent.replace(/[eE][+-]?0+$/, '').replace(/\.0+$/, '');
  const [digits = '0', exponent = '0'] = decimalOf(/^-?\d+$/.test(text) ? text : String(Number(text))).split(
    'e',
  );
  return BigInt(digits) * 10n ** BigInt(Number(exponent) + 400);
}

function holds(op: (typeof OPERATORS)[number], sent: string, value: string): boolean {
  const [one, other] = [seenAs(sent), seenAs(value)];
  switch (op) {
    case 'eq':
    case 'in':
      return one === other;
    case 'neq':
      return one !== other;
    case 'gt':
      return one > other;
    case 'gte':
      return one >= other;
    case 'lt':
      return one < other;
    case 'lte':
      return one <= other;
  }
}

it(
  'what timeline, ledger, cashback, segments, attributes and journeys see of a number is what was sent',
  async () => {
    const batches = fc.array(jsonNumber, { minLength: AT_ONCE, maxLength: AT_ONCE });
    const property = fc.asyncProperty(batches, async (numbers) => {
      const ref = project();
      const players = numbers.map((sent, i) => {
        return { player_id: randomUUID(), bet_id: randomUUID(), stake: 1_000 + i, sent };
      });
      const lines = linesOf(ref, players);
      await clickhouse.insertLines('events', lines, randomUUID());
      await clickhouse.insertLines(
        'players',
        players.map(({ player_id, sent }) => {
          const custom_attributes = storedJson(
            parseExact(`{"n":${sent},"deep":{"n":1}}`) as Record<string, unknown>,
          );
          return JSON.stringify({ ...ref, player_id, custom_attributes, revision: 1 });
        }),
        randomUUID(),
      );
      await expectHistory(ref, players);
      await expectSegments(ref, players, lines);
    });
    await fc.assert(property, { numRuns: Math.ceil(runs(2_000, { nightly: 20_000 }) / AT_ONCE) });
  },
  120_000 + runs(2_000, { nightly: 20_000 }) * 30,
);

async function expectHistory(ref: ReturnType<typeof project>, players: readonly Sent[]): Promise<void> {
  const owner = { ...ref, event_player_ids: players.map(({ player_id }) => player_id) };
  const entries = await findTimeline(clickhouse, owner, undefined, AT_ONCE);
  const shown = new Map(
    entries.map(({ properties }) => {
      const text = sentJson(properties);
      const [, deeper, n, list] =
        /^\{"before":\{"n":(.*?)\},"n":(.*?),"bet_id".*"list":\[(.*?)\]/.exec(text) ?? [];
      return [
        /"bet_id":"(.*?)"/.exec(text)?.[1],
        [deeper, n, ...(list ?? '').split(',')].map((one) => decimalOf(one ?? '')),
      ];
    }),
  );
  const sent = players.map(({ bet_id, sent: n }, i) => {
    const deeper = players[(i + 1) % players.length]?.sent ?? '';
    return [bet_id, [deeper, n, n, deeper].map(decimalOf)] as const;
  });
  expect(shown).toEqual(new Map(sent));
  const money = await findMoneyEvents(clickhouse, owner, undefined, AT_ONCE);
  expect(money.map(({ reference }) => reference).sort()).toEqual(players.map(({ bet_id }) => bet_id).sort());
  const owners = players.map(({ player_id }) => ({ player_id, event_player_ids: [player_id] }));
  const losses = await sumRealMoney(clickhouse, ref, owners, RECEIVED_MS - 1, RECEIVED_MS + 1);
  expect(losses).toEqual(
    new Map(players.map(({ player_id, stake }) => [player_id, { stakes: BigInt(stake), payouts: 0n }])),
  );
}

async function expectSegments(
  ref: ReturnType<typeof project>,
  players: readonly Sent[],
  lines: readonly string[],
): Promise<void> {
  const asked = players
    .slice(0, COMPARED)
    .flatMap(({ sent: value }) =>
      OPERATORS.map((op) => ({ op, value, operand: op === 'in' ? `[7.25,${value}]` : value })),
    );
  const definitions = asked.flatMap(({ op, operand }) =>
    [
      `{"type":"event","event":"bet_settled","aggregate":"count","op":"gte","value":1,"where":[{"property":"n","op":"${op}","value":${operand}}]}`,
      `{"type":"trait","field":"custom_attributes.n","op":"${op}","value":${operand}}`,
    ].map((condition) => readDefinition(parseExact(`{"operator":"AND","conditions":[${condition}]}`))),
  );
  const matrix = compileMatrix(definitions, RECEIVED_MS + 1);
  const rows = await clickhouse.query<Record<string, unknown>>(matrix.sql, {
    ...matrix.params,
    ...ref,
    now_ms: RECEIVED_MS + 1,
    players: players.map(({ player_id }) => player_id),
    former: [],
  });
  const verdicts = new Map(rows.map((row) => [String(row['player_id']), matrix.verdicts(row)]));
  const wrong: string[] = [];
  for (const [i, { player_id, sent }] of players.entries()) {
    const event = parseExact(lines[i] ?? '') as PlayerEvent;
    for (const [at, { op, value, operand }] of asked.entries()) {
      const comparison = readComparison(
        { kind: 'json' },
        { op, value: (parseExact(`[${operand}]`) as unknown[])[0] },
      );
      if ('key' in comparison) throw new Error(comparison.message);
      const seen = {
        event: verdicts.get(player_id)?.[2 * at],
        attribute: verdicts.get(player_id)?.[2 * at + 1],
        journey: verdictOn([{ property: 'n', comparison }], event),
      };
      for (const [place, holds_there] of Object.entries(seen)) {
        if (holds_there !== holds(op, sent, value))
          wrong.push(`${place}: ${sent} ${op} ${operand} is ${holds_there}`);
      }
    }
  }
  expect(wrong).toEqual([]);
}
