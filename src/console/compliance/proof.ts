import { DEPARTURE_MS } from '../../ingest/intake/exclusions.ts';
import { endOf } from './exclusion-json.ts';
import type { ExclusionRow } from './exclusion-queries.ts';
import type { BlockedItem, HandedRow, MergeRow } from './proof-queries.ts';

/** What the rows of a player say about one exclusion. */
export interface Finding<Span> {
  span: Span;
  /** Decided while the exclusion was in force, the earliest first: there should be none. */
  handed_over: HandedRow[];
  /** Decided before the exclusion was in force in every process, and handed over after it had come. */
  under_way: HandedRow[];
  blocked: { kind: 'message' | 'bonus'; code: string; count: number }[];
}

type Span = Pick<
  ExclusionRow,
  'player_id' | 'kind' | 'source' | 'accepted_at' | 'recorded_at' | 'ends_at' | 'ended_at'
>;

/** An event is answered at most so long after it was received: no append to the log waits longer. */
const ANSWERED_MS = 10_000;

/** The codes of messages and bonuses that each kind holds back. */
const HOLDS_BACK: Readonly<Record<Span['kind'], ReadonlySet<string>>> = {
  self_exclusion: new Set(['SKIPPED_SELF_EXCLUDED', 'SELF_EXCLUDED', 'PLAYER_EXCLUDED']),
  cooldown: new Set(['SKIPPED_COOLDOWN', 'COOLDOWN', 'PLAYER_EXCLUDED']),
};

/**
 * Compares each exclusion with everything that was handed over or held back; pure. An item counts against an exclusion
 * when it was decided while that was in force, for the player that was excluded, for one that had been merged by then, or for
 * anybody at an address of the person. An exclusion is in force in every process `DEPARTURE_MS` after it was written, and one by an event when that has been answered
 * at the latest, however late it was folded: what was decided up to then was under way. What came before the exclusion and was done before it is in no finding.
 */
export function findingsOf<One extends Span>(
  spans: readonly One[],
  handed: readonly HandedRow[],
  held_back: readonly BlockedItem[],
  merges: readonly MergeRow[],
  isMeant: (at: Date) => boolean = () => true,
): Finding<One>[] {
  const merged_ms = new Map(merges.map((merge) => [merge.player_id, merge.merged_at.getTime()]));
  const isOf = (span: Span, owner_id: string | null, at: Date) =>
    owner_id === null || owner_id === span.player_id || (merged_ms.get(owner_id) ?? Infinity) <= at.getTime();
  // What was decided before an exclusion counts when the exclusion began: so periods add up to the whole.
  const counts = ({ accepted_at }: Span, at: Date) => isMeant(at > accepted_at ? at : accepted_at);
  const found = (span: Span, verdict: ReturnType<typeof verdictOf>) =>
    handed.filter(
      (row) =>
        isOf(span, row.owner_id, row.decided_at) &&
        counts(span, row.decided_at) &&
        verdictOf(span, row) === verdict,
    );
  const findings = spans.map((span) => ({
    span,
    handed_over: found(span, 'handed_over'),
    under_way: found(span, 'under_way'),
    blocked: new Map<string, Finding<One>['blocked'][number]>(),
  }));
  const earliest_first = findings.toSorted(
    (a, b) => a.span.accepted_at.getTime() - b.span.accepted_at.getTime(),
  );
  for (const { kind, code, owner_id, at } of held_back) {
    // The item was made before it was held back, so the first exclusion that was not over by then is the one.
    const finding = earliest_first.find(
      ({ span }) => HOLDS_BACK[span.kind].has(code) && isOf(span, owner_id, at) && !isBefore(endOf(span), at),
    );
    if (finding === undefined || !counts(finding.span, at)) continue;
    const known = finding.blocked.get(`${kind} ${code}`);
    if (known !== undefined) known.count++;
    else finding.blocked.set(`${kind} ${code}`, { kind, code, count: 1 });
  }
  return findings.map(({ blocked, ...finding }) => ({ ...finding, blocked: [...blocked.values()] }));
}

function isBefore(end: Date | null, at: Date): boolean {
  return end !== null && end <= at;
}

function inForceFrom_ms({ source, accepted_at, recorded_at }: Span): number {
  const recorded_ms = recorded_at.getTime();
  const known_ms =
    source === 'event' ? Math.min(recorded_ms, accepted_at.getTime() + ANSWERED_MS) : recorded_ms;
  return known_ms + DEPARTURE_MS;
}

function verdictOf(span: Span, row: HandedRow): 'handed_over' | 'under_way' | 'no matter' {
  const decided_ms = row.decided_at.getTime();
  const end = endOf(span);
  if (isBefore(end, row.decided_at)) return 'no matter';
  if (decided_ms >= inForceFrom_ms(span)) return 'handed_over';
  // Nothing says when a message that is still under way will arrive.
  const done_ms = row.handed_over_at?.getTime() ?? (isOpen(row) ? Infinity : decided_ms);
  return Math.max(done_ms, decided_ms) >= span.accepted_at.getTime() ? 'under_way' : 'no matter';
}

function isOpen({ kind, status }: HandedRow): boolean {
  return kind === 'message' ? status === 'sending' || status === 'queued' : status === 'pending';
}
