import { expect, it } from 'vitest';
import { isVital } from '../../clients/js/src/events/sender.ts';
import { definitionOf, EVENTS } from '../../src/ingest/events/catalogue.ts';

/** The groups of the catalogue whose events the SDK drops last and writes to its spool. */
const VITAL_GROUPS = [
  'Balance',
  'Casino wagering',
  'Deposits',
  'KYC',
  'Responsible gaming',
  'Sportsbook (two-phase)',
  'Withdrawals',
];

it('the SDK keeps every event about money, exclusions, limits and KYC, and no other, as the catalogue groups them', () => {
  const names = Object.keys(EVENTS);
  const of_groups = names.filter((name) => VITAL_GROUPS.includes(definitionOf(name)?.group ?? ''));
  expect(new Set(names.map((name) => definitionOf(name)?.group))).toEqual(
    new Set([...VITAL_GROUPS, 'Bonuses', 'Identity / session', 'Messaging feedback']),
  );
  expect(names.filter(isVital)).toEqual(of_groups);
});
