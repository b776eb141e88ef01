import type { GrantEvent, GrantStatus } from '../../../src/bonuses/grants/transition.ts';

/** What a grant shows after some events of one bonus. */
export interface OracleGrant {
  status: GrantStatus;
  needs_review: boolean;
  total_wagered: bigint | null;
  released: bigint | null;
  credited_ms: number | null;
  ended_ms: number | null;
}

const END = /^bonus\.(completed|expired|forfeited|lost|cancelled)$/;
const max = (values: (bigint | undefined)[]) =>
  values.reduce<bigint | null>(
    (most, one) => (one !== undefined && (most === null || one > most) ? one : most),
    null,
  );
const min = (values: number[]) => (values.length === 0 ? null : Math.min(...values));

/**
 * The end of a life by the set of its events alone, whatever their order: written from the table of statuses, without
 * the code under test. A life has at most one kind of end; a refused one is refuted by a credit or a completion only.
 */
export function endOfLife(events: readonly GrantEvent[]): OracleGrant {
  const of = (name: string) => events.filter((event) => event.name === name);
  const ends = events.filter(({ name }) => END.test(name));
  const [end] = ends;
  const is_refused = of('bonus.rejected').length > 0;
  const has_money = of('bonus.credited').length > 0 || of('bonus.completed').length > 0;
  const has_sign = of('bonus.credited').length > 0 || of('bonus.wagered').length > 0;
  const status =
    end !== undefined
      ? end.name.slice('bonus.'.length)
      : is_refused && !has_money
        ? 'failed'
        : has_sign
          ? 'active'
          : 'pending';
  const closing = end === undefined && status === 'failed' ? of('bonus.rejected') : ends;
  return {
    status: status as GrantStatus,
    needs_review: is_refused && has_money,
    total_wagered: max(events.map((event) => event.total_wagered)),
    released: max(events.map((event) => event.released_amount)),
    credited_ms: min(of('bonus.credited').map((event) => event.credited_ms ?? event.at_ms)),
    ended_ms: min(closing.map((event) => event.completed_ms ?? event.at_ms)),
  };
}

/** The table of statuses, read literally: the status after each event of any stream, and whether it moved the grant. */
export function walk(events: readonly GrantEvent[]): { status: string; applied: boolean }[] {
  let status = 'pending';
  let total = -1n;
  return events.map((event) => {
    const name = event.name.slice('bonus.'.length);
    const open = status === 'pending' || status === 'active';
    let next = status;
    if (name === 'credited' && (status === 'pending' || status === 'failed')) next = 'active';
    if (name === 'wagered' && status === 'pending') next = 'active';
    if (name === 'completed' && (open || status === 'failed')) next = 'completed';
    if (['expired', 'forfeited', 'lost', 'cancelled'].includes(name) && open) next = name;
    if (name === 'rejected' && status === 'pending') next = 'failed';
    const grew = (event.total_wagered ?? -1n) > total;
    const applied = next !== status || (name === 'wagered' && status === 'active' && grew);
    // A report of another end says nothing of this grant.
    const counts = !END.test(event.name) || next === name;
    if (counts && name !== 'rejected' && grew) total = event.total_wagered ?? total;
    status = next;
    return { status, applied };
  });
}
