import { assert, integer, property, string, uuid } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyIdMessage, isEmptyId } from '../../src/platform/empty-ids.ts';
import { runs } from '../engines/effort.ts';

describe('the text of an id stands for no id', () => {
  // What other collectors of events refuse as ids, what languages write for nothing, and the examples of integrations.
  const EMPTY = [
    'anonymous|guest|distinctid|distinct_id|id|not_authenticated|email|undefined|true|false|[object Object]|NaN|None',
    'none|null|0|nil|N/A|unknown|-1|{}|[]|00000000-0000-0000-0000-000000000000|(null)|<null>',
  ].flatMap((line) => line.split('|'));
  it.each(EMPTY)('%j', (id) => {
    for (const one of [id, ` ${id} `, id.toUpperCase(), `"${id}"`]) expect(isEmptyId(one), one).toBe(true);
    expect(emptyIdMessage('external_id', id)).toContain(JSON.stringify(id));
  });

  it.each([' ', '\t\n', '""', "' '", "''''"])('%j, which has nothing in it', (id) => {
    expect(isEmptyId(id)).toBe(true);
  });

  it.each(['', 'undefined-7', 'nullable', '00', '10', 'guest-7', 'id:1', 'e', '(', '"', 'ნული'])(
    'not %j',
    (id) => {
      expect(isEmptyId(id)).toBe(false);
    },
  );

  it('no UUID and no number of an account does', () => {
    assert(
      property(uuid(), integer({ min: 1 }), string(), (one, number, text) => {
        expect(isEmptyId(one)).toBe(/^[0-]+$/.test(one));
        expect(isEmptyId(String(number))).toBe(false);
        expect(isEmptyId(`player-${text}`)).toBe(false);
      }),
      { numRuns: runs(500) },
    );
  });
});
