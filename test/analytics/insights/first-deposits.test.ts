import { afterAll, beforeAll, expect, it } from 'vitest';
import { firstDepositsSql } from '../../../src/analytics/insights/metrics/measure-queries.ts';
import { runs, SEED } from '../../engines/effort.ts';
import {
  Draw,
  drawPlayers,
  newProject,
  openKinds,
  type KnownEvent,
  type Kinds,
} from './kinds/kinds-fixture.ts';

const BEGIN_MS = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
const HOURS = 2_000;
const RANGES = runs(150);

let kinds: Kinds;
beforeAll(async () => {
  kinds = await openKinds();
});
afterAll(() => kinds?.close());

it('follows from players as from events, also of merged and deleted players', async () => {
  const draw = new Draw(SEED);
  const project = newProject();
  const players = drawPlayers(draw, 300, () => BEGIN_MS);
  const events = Array.from({ length: 2_000 }, (): KnownEvent => ({
    player_id: draw.of(players).player_id,
    event: draw.of(['deposit_confirmed', 'deposit_reversed', 'login']),
    at_ms: BEGIN_MS + draw.below(HOURS) * HOUR_MS,
    amount: 100,
  }));
  await kinds.store(project, players, events);
  const ids = new Set<string>(players.map(({ player_id }) => player_id));
  const first = new Map<string, number>();
  for (const { player_id, event, at_ms } of events)
    if (event === 'deposit_confirmed') first.set(player_id, Math.min(first.get(player_id) ?? at_ms, at_ms));
  const ask = async (from_ms: number, to_ms: number, are_known: boolean) => {
    const within = (column: string) =>
      `${column} >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC') and ${column} < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')`;
    const rows = await kinds.ask<{ owner: string; at: string }>(project, {
      sql: `select owner, toString(toUnixTimestamp64Milli(first_at)) as at
        from (${firstDepositsSql(within, are_known)}) where ${within('first_at')}`,
      params: { from_ms, to_ms },
    });
    // Rows that were replaced have ids of nobody; those of merged players are deleted in `players`.
    return rows
      .filter(({ owner }) => ids.has(owner))
      .map(({ owner, at }) => `${owner} ${at}`)
      .toSorted();
  };
  let found = 0;
  for (let n = 0; n < RANGES; n++) {
    const from_ms = BEGIN_MS + draw.below(HOURS) * HOUR_MS;
    const to_ms = from_ms + draw.below(HOURS / 4) * HOUR_MS;
    const expected = players
      .filter(({ player_id, is_deleted }) => {
        const at_ms = first.get(player_id) ?? -1;
        return !is_deleted && at_ms >= from_ms && at_ms < to_ms;
      })
      .map(({ player_id }) => `${player_id} ${first.get(player_id)}`);
    expect(await ask(from_ms, to_ms, true)).toEqual(expected.toSorted());
    expect(await ask(from_ms, to_ms, false)).toEqual(expected.toSorted());
    found += expected.length;
  }
  expect(found).toBeGreaterThan(RANGES);
});
