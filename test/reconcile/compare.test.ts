import { expect, it } from 'vitest';
import { differencesOfSum } from '../../src/reconcile/compare.ts';

const LOGINS = {
  tenant_id: 't',
  project_id: 'p',
  player_id: 'x',
  event: 'login',
  field: 'count',
  ledger: '0',
  totals: '0',
};
const tablesOf = (events: string, events_by_player: string, is_recent: boolean) =>
  differencesOfSum({ ...LOGINS, events, events_by_player }, () => false, { is_gone: false, is_recent }).map(
    ({ table }) => table,
  );

it('of events without money the table with fewer has lost some, unless they came while both were read', () => {
  expect(tablesOf('355', '359', false)).toEqual(['events']);
  expect(tablesOf('359', '355', false)).toEqual(['events_by_player']);
  // `events` is read first.
  expect(tablesOf('355', '359', true)).toEqual([]);
  expect(tablesOf('359', '355', true)).toEqual(['events_by_player']);
  expect(tablesOf('355', '355', true)).toEqual([]);
});
