import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pastRounds, roundOf } from '../../../src/engage/experiments/global.ts';
import type { HeldOutShare } from '../../../src/engage/experiments/global-queries.ts';
import { saveGlobalHoldout } from '../../../src/engage/experiments/global-queries.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { messagingClient } from '../messaging/messaging-client.ts';

// Rounds of a project's holdout: which there were, and what is read of one that is over.

const DAY_MS = 86_400_000;

describe('the rounds that are over', () => {
  it('are those that the draws had, moment by moment', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ days: fc.integer({ min: 1, max: 200 }), percent: fc.constantFrom(0, 2, 10) }), {
          minLength: 1,
          maxLength: 6,
        }),
        fc.integer({ min: 0, max: 300 }),
        (changes, rest) => {
          let at_ms = Date.UTC(2024, 0, 15);
          const shares = changes.map(({ days, percent }, i): HeldOutShare => {
            const changed_at = new Date(at_ms);
            at_ms += days * DAY_MS;
            const ended_at = i + 1 < changes.length ? new Date(at_ms) : null;
            return { holdout_percent: percent, changes: i + 1, changed_at, ended_at };
          });
          const now = new Date(at_ms + rest * DAY_MS);
          const found = pastRounds(shares, now, 1_000);
          // The oracle: which round a draw of each half day would be in.
          const drawn = new Map<string, { first_ms: number; last_ms: number }>();
          const last = shares.at(-1);
          for (let ms = Date.UTC(2024, 0, 15); ms < now.getTime(); ms += DAY_MS / 2) {
            const share = shares.findLast(({ changed_at }) => changed_at.getTime() <= ms) ?? last;
            if (share === undefined || share.holdout_percent === 0) continue;
            const { name } = roundOf(share, new Date(ms));
            drawn.set(name, { first_ms: drawn.get(name)?.first_ms ?? ms, last_ms: ms });
          }
          const present = last === undefined ? '' : roundOf(last, now).name;
          const wanted = [...drawn].filter(([name]) => name !== present);
          expect(found.map(({ name }) => name).toSorted()).toEqual(wanted.map(([name]) => name).toSorted());
          for (const { name, begins_at, ends_at } of found) {
            expect(begins_at.getTime()).toBe(drawn.get(name)?.first_ms);
            expect(ends_at.getTime()).toBe((drawn.get(name)?.last_ms ?? 0) + DAY_MS / 2);
          }
          expect(found.map(({ ends_at }) => -ends_at.getTime())).toEqual(
            found.map(({ ends_at }) => -ends_at.getTime()).toSorted((a, b) => a - b),
          );
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('a round that is over', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(async () => service?.close());

  interface Shown {
    round: { name: string } | null;
    rounds: { name: string; holdout_percent: number; begins_at: string; ends_at: string }[];
    uplift: {
      is_final: boolean;
      holdout_percent: number;
      drawn_since: string;
      closes_at: string;
      held_out: { players: number };
      arms: { players: number }[];
    } | null;
  }

  it('stays readable, without those whom a run from before reached in it, and whose window outlasts it', async () => {
    const { tenant_id, project_id } = service;
    const client = messagingClient(service, service);
    const { service: sql } = service.platform.postgres;
    // A round of 55 days within the quarter before this one.
    const now = new Date();
    const quarter = Date.UTC(now.getUTCFullYear(), Math.floor(now.getUTCMonth() / 3) * 3 - 3, 11);
    const day = (days: number) => new Date(quarter + days * DAY_MS);
    await sql.begin((tx) => saveGlobalHoldout(tx, service, 10, day(0)));
    await sql.begin((tx) => saveGlobalHoldout(tx, service, 0, day(55)));
    const journey_id = randomUUID();
    const lines: string[] = [];
    const steps: string[] = [];
    const run = (at: Date, is_held_out: 0 | 1 | 2, player_id = randomUUID()) => {
      const run_id = randomUUID();
      lines.push(
        JSON.stringify({
          tenant_id,
          project_id,
          journey_id,
          run_id,
          version: 1,
          player_id,
          is_held_out: Number(is_held_out === 1),
          is_held_out_globally: is_held_out,
          started_at: at.getTime(),
          is_archived: 0,
          revision: 1,
        }),
      );
      return { run_id, player_id };
    };
    const step = (run_id: string, player_id: string, at: Date) =>
      steps.push(
        JSON.stringify({
          tenant_id,
          project_id,
          journey_id,
          run_id,
          seq: 1,
          version: 1,
          player_id,
          node_id: 'n',
          node_type: 'wait',
          status: 'completed',
          outcome: 'elapsed',
          entered_at: day(-60).getTime(),
          completed_at: at.getTime(),
          revision: 1,
        }),
      );
    for (let n = 0; n < 12; n++) run(day(1), n < 3 ? 1 : 0);
    // A run from before that went on in the round, and one that had ended.
    const goes_on = run(day(-40), 0);
    step(goes_on.run_id, goes_on.player_id, day(2));
    run(day(1), 1, goes_on.player_id);
    const ended = run(day(-40), 0);
    step(ended.run_id, ended.player_id, day(-30));
    run(day(1), 0, ended.player_id);
    // Of a service journey, which draws nobody.
    run(day(1), 2);
    // Their window would end after the round.
    for (let n = 0; n < 4; n++) run(day(50), n < 2 ? 1 : 0);
    const { clickhouse } = service.platform;
    await clickhouse.insertLines('journey_runs', lines, randomUUID());
    await clickhouse.insertLines('journey_steps', steps, randomUUID());
    const ask = async (query = '') => {
      const answer = await client.api<Shown>('GET', `/v1/experiments/global${query}`);
      expect(answer.status, JSON.stringify(answer.error)).toBe(200);
      return answer.data;
    };
    const shown = await ask();
    expect(shown).toMatchObject({ round: null, uplift: null });
    const [round] = shown.rounds;
    const ends = { begins_at: day(0).toISOString(), ends_at: day(55).toISOString() };
    expect(shown.rounds).toEqual([{ name: round?.name, holdout_percent: 10, ...ends }]);
    const final = await until('it is final', async (saw) => {
      const { uplift } = saw(await ask(`?round=${round?.name ?? ''}`));
      return uplift?.is_final === true ? uplift : undefined;
    });
    expect(final).toMatchObject({
      holdout_percent: 10,
      drawn_since: ends.begins_at,
      closes_at: ends.ends_at,
      held_out: { players: 3 },
      arms: [{ players: 10 }],
    });
    // What was said stays, whatever comes in later.
    run(day(1), 0);
    await clickhouse.insertLines('journey_runs', lines.slice(-1), randomUUID());
    expect((await ask(`?round=${round?.name ?? ''}`)).uplift).toEqual(final);
    const refused = await client.api('GET', '/v1/experiments/global?round=2020-Q1.9');
    expect([refused.status, refused.error?.code]).toEqual([422, 'VALIDATION_ERROR']);
  });
});
