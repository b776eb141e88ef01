import { expect, test } from 'vitest';
import { VARIABLES } from '../../console/src/screens/templates/variables.ts';
import { codes } from '../../console/src/messages/en/codes.ts';
import { FAILURE_CODES, SKIP_CODES } from '../../src/engage/messaging/send-row.ts';
import { playerScope, SYNTHETIC_BONUS, SYNTHETIC_PLAYER } from '../../src/engage/templates/player-scope.ts';

// What the console repeats of the service.

test('every variable that the editor offers exists in templates', () => {
  const scope = playerScope(SYNTHETIC_PLAYER, { bonus: SYNTHETIC_BONUS, unsubscribe_url: 'url' });
  const valueOf = (name: string) =>
    name
      .split('.')
      .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], scope);
  expect(VARIABLES.filter((name) => valueOf(name) === undefined)).toEqual([]);
});

test('every code of a skip or failure has plain words, and no other', () => {
  expect(Object.keys(codes).toSorted()).toEqual([...SKIP_CODES, ...FAILURE_CODES].toSorted());
});
