import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** The sums of a made file of bets, in cents, as the totals must have them. */
export interface BetFileSums {
  bets: number;
  players: number;
  wagered: bigint;
  won: bigint;
}

/** The mapping of the file of {@link writeBets}: one line is one settled bet. */
export const BET_MAPPING = {
  anonymous_id: 'player',
  timestamp: { time: 'settled_at', zone: 'Europe/Malta' },
  events: [
    {
      event: 'bet_settled',
      properties: {
        bet_id: { columns: ['provider', 'round'] },
        amount: { money: 'stake', scale: 2 },
        payout: { money: 'win', scale: 2 },
        currency: 'currency',
        game_id: 'game',
        game_category: { column: 'type', map: { S: 'slots', L: 'live', T: 'table' } },
        outcome: { column: 'result', map: { W: 'won', L: 'lost', P: 'push' } },
      },
    },
  ],
} as const;

const LINES_AT_ONCE = 1_000;
const BEGIN_MS = Date.UTC(2025, 0, 1);
/** So many bets are spread over a year. */
const YEAR_MS = 365 * 86_400_000;

/** Writes a CSV file of settled bets, the same for the same arguments, and returns its sums. `label` makes ids unique. */
export async function writeBets(
  file: string,
  bets: number,
  { players = 10_000, label = 'r' } = {},
): Promise<BetFileSums> {
  const sums = { bets, players: Math.min(bets, players), wagered: 0n, won: 0n };
  const lines = function* () {
    yield 'provider,round,player,settled_at,type,game,stake,win,result,currency,note\n';
    for (let from = 0; from < bets; from += LINES_AT_ONCE) {
      let text = '';
      for (let i = from; i < Math.min(bets, from + LINES_AT_ONCE); i++) {
        const { line, stake, win } = betLine(i, bets, players, label);
        sums.wagered += BigInt(stake);
        sums.won += BigInt(win);
        text += line;
      }
      yield text;
    }
  };
  await pipeline(Readable.from(lines()), createWriteStream(file));
  return sums;
}

function betLine(i: number, bets: number, players: number, label: string) {
  const stake = 10 + ((i * 37) % 5_000);
  const win = i % 10 === 0 ? stake : i % 3 === 0 ? (i * 53) % 12_000 : 0;
  const result = win === stake ? 'P' : win > 0 ? 'W' : 'L';
  const at = new Date(BEGIN_MS + Math.floor((YEAR_MS * i) / bets)).toISOString();
  const note = i % 100 === 0 ? '"a note, with ""quotes"""' : '';
  const fields = [
    `p${i % 7}`,
    `${label}-${i}`,
    `player-${(i * 7919) % players}`,
    `${at.slice(0, 10)} ${at.slice(11, 19)}`,
    'SLT'[i % 3],
    `game-${i % 50}`,
    decimal(stake),
    decimal(win),
    result,
    'EUR',
    note,
  ];
  return { line: `${fields.join(',')}\n`, stake, win };
}

function decimal(cents: number): string {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
}
