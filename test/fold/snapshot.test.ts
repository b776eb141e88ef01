import { expect, it } from 'vitest';
import { readSnapshot } from '../../src/fold/read-queries.ts';
import type { Tx } from '../../src/platform/postgres/port.ts';

const PLACE = { tenant_id: crypto.randomUUID(), project_id: crypto.randomUUID() };

it('reads revisions of bets before their ledger rows, so that a commit in between is noticed', async () => {
  const asked: string[] = [];
  const statement = (texts: TemplateStringsArray) => {
    asked.push(texts.join('?'));
    const rows = Promise.resolve([]);
    return Object.assign(rows, { values: () => rows });
  };
  await readSnapshot(statement as unknown as Tx, {
    projects: [PLACE],
    anonymous: [],
    players: [],
    references: [{ ...PLACE, reference: 'b' }],
    bets: [{ ...PLACE, kind: 'casino', bet_id: 'b' }],
  });
  const revisions = asked.findIndex((text) => text.includes('from bets'));
  const rows = asked.findIndex((text) => text.includes('from ledger'));
  expect(revisions).toBeGreaterThanOrEqual(0);
  expect(rows).toBeGreaterThan(revisions);
});
