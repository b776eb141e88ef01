import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import { lettersWithin, MAX_DUPLICATE_LETTERS, type DifferingDuplicate } from './fold-event.ts';

/**
 * Takes what the duplicates need from the allowances of their projects on the UTC day of `now_ms`, and returns those that
 * get a dead letter: the first ones. It is the last that the transaction of a batch locks, in the order of the projects;
 * once an allowance is used up, nothing is locked any more.
 */
export async function takeLetters(
  tx: Tx,
  duplicates: readonly DifferingDuplicate[],
  now_ms: number,
): Promise<DifferingDuplicate[]> {
  if (duplicates.length === 0) return [];
  const day = new Date(now_ms).toISOString().slice(0, 10);
  const wanted = new Map<string, { tenant_id: string; project_id: string; letters: number }>();
  for (const { tenant_id, project_id } of duplicates) {
    const of = wanted.get(project_id) ?? { tenant_id, project_id, letters: 0 };
    of.letters = Math.min(of.letters + 1, MAX_DUPLICATE_LETTERS);
    wanted.set(project_id, of);
  }
  const sorted = [...wanted.values()].toSorted((a, b) => (a.project_id < b.project_id ? -1 : 1));
  // What this statement adds to the number is what was free, whatever other transactions took before it had the row.
  const taken = await tx<{ project_id: string; letters: number }[]>`
    insert into duplicate_letters as d (tenant_id, project_id, day, letters)
    select r.tenant_id, r.project_id, ${day}::text::date, r.letters
    from ${rowsOf(tx, 'r', sorted, { ...PROJECT_KEY, letters: 'integer' })}
    where not exists (select from duplicate_letters f where f.day = ${day}::text::date
      and f.tenant_id = r.tenant_id and f.project_id = r.project_id and f.letters >= ${MAX_DUPLICATE_LETTERS})
    order by r.project_id
    on conflict (tenant_id, project_id, day) do update set letters = d.letters + excluded.letters
    returning d.project_id, d.letters`;
  const free = new Map(
    taken.map(({ project_id, letters }) => {
      const before = letters - (wanted.get(project_id)?.letters ?? 0);
      return [project_id, MAX_DUPLICATE_LETTERS - before];
    }),
  );
  return lettersWithin(duplicates, (project_id) => free.get(project_id) ?? 0);
}

/** Removes at most `limit` rows of days before that of `now_ms`, the oldest first; returns how many. */
export async function removeOldLetterCounts(sql: Tx, now_ms: number, limit: number): Promise<number> {
  const day = new Date(now_ms).toISOString().slice(0, 10);
  const { count } = await sql`
    with old as materialized (
      select ctid from duplicate_letters where day < ${day}::text::date order by day
      limit ${limit} for update skip locked)
    delete from duplicate_letters d using old where d.ctid = old.ctid`;
  return count;
}
