import type { TestService } from '../test/engines/service.ts';
import { mixedEvents } from './events.ts';
import { foldEndToEnd } from './fold.ts';
import { median, result, type Result, type Sample } from './measure.ts';

const PLAYERS = 20_000;
const EVENTS = 200_000;
const TIMES = 10;
const ROUNDS = 5;

/**
 * The fold's time per event with ten times the players and ten times the history. The history is folded as events of
 * its own, so that tables, indexes and dead rows are those that the service itself makes.
 */
export async function benchGrowth(service: TestService): Promise<Result[]> {
  let label = 0;
  const fold = (events: number, players: number) =>
    foldEndToEnd(service, mixedEvents(events, players, `growth-${label++}`));
  const rounds = async (players: number): Promise<number[]> => {
    const micros: number[] = [];
    for (let round = 0; round < ROUNDS; round++) micros.push(microsPerEvent(await fold(EVENTS / 4, players)));
    return micros;
  };
  await fold(EVENTS, PLAYERS);
  const small = await rounds(PLAYERS);
  for (let part = 0; part < TIMES; part++) await fold(EVENTS, PLAYERS * TIMES);
  const large = await rounds(PLAYERS * TIMES);
  const note = `${median(small).toFixed(1)} → ${median(large).toFixed(1)} µs per event; ${PLAYERS} → ${PLAYERS * TIMES} players, ${EVENTS} → ${EVENTS * (TIMES + 1)} events before`;
  const values = large.map((micros) => micros / median(small));
  return [
    result(
      'fold, µs per event at 10 times the players and history ÷ before',
      values,
      { at_most: 1.15 },
      note,
    ),
  ];
}

function microsPerEvent(sample: Sample): number {
  return (sample.wall_ms * 1_000) / sample.items;
}
