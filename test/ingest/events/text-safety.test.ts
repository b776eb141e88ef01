import { describe, expect, it } from 'vitest';
import { refuseUnstorable } from '../../../src/http/json-body.ts';
import { findEventProblem } from '../../../src/ingest/events/validate.ts';
import { parseExact } from '../../../src/platform/exact-json.ts';

const context = { now_ms: Date.UTC(2026, 0, 31), hasCurrency: () => true };
const list = (number: string, count: number) => `{"l":[${Array(count).fill(number).join(',')}]}`;

/** Why an event with these properties is refused. */
const refused = (properties: string) =>
  findEventProblem(parseExact(`{"event":"custom_x","anonymous_id":"a","properties":${properties}}`), context);
/** Why a body is refused. */
function issues(body: string): unknown {
  try {
    return refuseUnstorable(parseExact(body));
  } catch (error) {
    return (error as { details?: { issues: unknown } }).details?.issues;
  }
}

describe('a number', () => {
  it.each([
    ['1e400', 'is a number beyond the range of a double'],
    ['1e16383', 'is a number beyond the range of a double'],
    ['-123e9999', 'is a number beyond the range of a double'],
    [`0.${'1'.repeat(16_384)}`, 'is a number of more than 400 digits'],
    [`1.${'1'.repeat(99)}e-300`, 'is a number of more than 400 digits'],
  ])('beyond what is stored is refused: number %#', (number, why) => {
    expect(refused(`{"deep":[{"n":${number}}]}`)).toEqual({
      code: 'PROPERTIES_INVALID',
      path: 'properties',
      message: `properties.deep[0].n ${why}`,
    });
    expect(issues(`{"traits":{"n":${number}}}`)).toEqual([{ path: 'traits.n', message: why }]);
  });

  it.each(['1e-20000', '1e-16383', '1e300', '5e-324', '25000000000000000000', '0.12345678901234567890'])(
    '%s is accepted',
    (number) => {
      expect(refused(`{"n":${number}}`)).toBeUndefined();
      expect(issues(`{"n":${number}}`)).toBeUndefined();
    },
  );

  it('is no object, whose fields count as keys', () => {
    expect(refused(list('25000000000000000000', 2_001))).toBeUndefined();
  });

  it('may not grow much in Postgres together with others', () => {
    const why = 'has numbers that are over 65536 characters longer without exponents';
    for (const number of ['1e300', '1e-300']) {
      expect(refused(list(number, 200))).toBeUndefined();
      expect(issues(list(number, 200))).toBeUndefined();
      expect(refused(list(number, 300))).toMatchObject({ message: `properties ${why}` });
      expect(issues(list(number, 300))).toEqual([{ path: '', message: why }]);
    }
    expect(refused(list('1e15', 60_000))).toBeUndefined();
  });
});
