import { describe, expect, it } from 'vitest';
import { findingsOf } from '../../../src/console/compliance/proof.ts';
import type { BlockedItem, HandedRow } from '../../../src/console/compliance/proof-queries.ts';

const at = (s: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, s));
const span = (
  from: number,
  to: number | null,
  rest: Partial<{ player_id: string; kind: 'cooldown'; source: 'event'; recorded_at: Date }> = {},
) => ({
  player_id: 'ann',
  kind: 'self_exclusion' as const,
  source: 'operator' as const,
  accepted_at: at(from),
  recorded_at: at(from),
  ends_at: null,
  ended_at: to === null ? null : at(to),
  ...rest,
});

function item(kind: 'message' | 'bonus', decided: number, rest: Partial<HandedRow> = {}): HandedRow {
  const of = { campaign_id: null, campaign_name: null, journey_id: null, journey_name: null };
  return {
    kind,
    id: `${kind} ${decided}`,
    player_id: rest.player_id ?? 'ann',
    owner_id: 'ann',
    channel: null,
    ...of,
    status: 'sent',
    error_code: null,
    made_at: at(decided),
    decided_at: at(decided),
    handed_over_at: at(decided),
    ...rest,
  };
}

const ids = (rows: readonly HandedRow[] | undefined) => rows?.map(({ id }) => id);

describe('findings', () => {
  it('count what was decided from the exclusion on until its end, messages and bonuses alike', () => {
    const handed = [item('message', 5), item('bonus', 15), item('message', 19), item('message', 20)];
    const [found] = findingsOf([span(10, 20)], handed, [], []);
    expect(ids(found?.handed_over)).toEqual(['bonus 15', 'message 19']);
    expect(found?.under_way).toEqual([]);
  });

  it('tell what was under way when the exclusion came from what was decided afterwards', () => {
    const handed = [
      item('message', 9, { handed_over_at: at(11) }),
      item('message', 8, { handed_over_at: null, status: 'sending' }),
      item('bonus', 7, { handed_over_at: null, status: 'failed' }),
      // Within the time that the answer to the event is kept back.
      item('bonus', 10),
    ];
    const [found] = findingsOf([span(10, null)], handed, [], []);
    expect(found?.handed_over).toEqual([]);
    expect(ids(found?.under_way)).toEqual(['message 9', 'message 8', 'bonus 10']);
  });

  it('count what was decided after the answer to an event, however late the event was folded', () => {
    const handed = [item('message', 12), item('message', 40), item('bonus', 300)];
    const late = { source: 'event', recorded_at: at(600) } as const;
    const [found] = findingsOf([span(10, null, late)], handed, [], []);
    expect(ids(found?.handed_over)).toEqual(['message 40', 'bonus 300']);
    expect(ids(found?.under_way)).toEqual(['message 12']);
  });

  it('add up over periods: what was decided before an exclusion is of the period in which that began', () => {
    const handed = [item('message', 9, { handed_over_at: at(11) }), item('message', 20), item('bonus', 50)];
    const held: BlockedItem = { kind: 'message', code: 'SKIPPED_SELF_EXCLUDED', owner_id: 'ann', at: at(8) };
    const of = (from: number, to: number) => {
      const isMeant = (when: Date) => when >= at(from) && when < at(to);
      const [found] = findingsOf([span(10, null)], handed, [held], [], isMeant);
      return [ids(found?.handed_over), ids(found?.under_way), found?.blocked.length];
    };
    expect(of(0, 10)).toEqual([[], [], 0]);
    expect(of(10, 40)).toEqual([['message 20'], ['message 9'], 1]);
    expect(of(40, 90)).toEqual([['bonus 50'], [], 0]);
  });

  it('keep apart what two players got before they were merged', () => {
    const merges = [{ player_id: 'visitor', merged_at: at(30) }];
    const spans = [span(30, null), span(10, 30, { player_id: 'visitor' })];
    const handed = [
      // The survivor's own while the other was excluded; the other's while it was; and one that was decided later.
      item('message', 15),
      item('message', 20, { owner_id: 'visitor' }),
      item('message', 40, { owner_id: 'visitor' }),
    ];
    const [survivors, visitors] = findingsOf(spans, handed, [], merges);
    expect(ids(survivors?.handed_over)).toEqual(['message 40']);
    expect(ids(visitors?.handed_over)).toEqual(['message 20']);
  });

  it('count messages to others at an address of the person', () => {
    const theirs = { player_id: 'bob', owner_id: null };
    const handed = [item('message', 5, theirs), item('message', 15, theirs), item('message', 25, theirs)];
    const [found] = findingsOf([span(10, 20)], handed, [], []);
    expect(ids(found?.handed_over)).toEqual(['message 15']);
  });

  it('count what was held back for the exclusion that held it back', () => {
    const held = (code: string, s: number): BlockedItem => ({
      kind: 'message',
      code,
      owner_id: 'ann',
      at: at(s),
    });
    const spans = [span(40, null), span(25, 50, { kind: 'cooldown' }), span(10, 20)];
    const held_back = [
      held('SKIPPED_SELF_EXCLUDED', 5),
      held('SKIPPED_SELF_EXCLUDED', 15),
      held('SKIPPED_SELF_EXCLUDED', 30),
      held('SKIPPED_COOLDOWN', 30),
    ];
    const counted = findingsOf(spans, [], held_back, []).map(({ blocked }) =>
      blocked.map(({ count }) => count),
    );
    expect(counted).toEqual([[1], [1], [2]]);
  });
});
