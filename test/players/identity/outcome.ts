import { SUMS, type Sum } from '../../../src/ledger/money/totals.ts';
import { Oracle, type ExpectedPlayer, type SentEvent } from '../../oracle/oracle.ts';

export type Sums = Readonly<Record<Sum, bigint>>;

/** The final state after events, identify calls and merges. */
export interface Outcome {
  players: ReadonlyMap<string, OutcomePlayer>;
  /** player_id → sums. */
  totals: ReadonlyMap<string, Sums>;
  /** anonymous_id → player_id. */
  identities: ReadonlyMap<string, string>;
  /** Merged player_id → survivor's player_id. */
  merges: ReadonlyMap<string, string>;
  /** Ledger rows by `<ingestion_id> <event_index>`, with the player that claimed them. */
  ledger: ReadonlyMap<string, { player_id: string; event: SentEvent }>;
  /** The player of each emitted event, by the same key. */
  emitted: ReadonlyMap<string, { player_id: string }>;
  /** Each sent event, by the same key. */
  sent: ReadonlyMap<string, SentEvent>;
  /** The answers of identify. */
  answers: readonly { anonymous_id: string | undefined; player_id: string; conflict: boolean }[];
}

export interface OutcomePlayer {
  external_id: string | null;
  anonymous_ids: readonly string[];
  self_excluded: boolean;
  deleted: boolean;
}

/** The faults of an outcome that hold for every interleaving; empty when there are none. */
export function complaintsOf(outcome: Outcome): string[] {
  return [
    ...aboutPlayers(outcome),
    ...aboutAnswers(outcome),
    ...aboutSenders(outcome),
    ...aboutSums(outcome),
    ...aboutTotals(outcome),
  ];
}

function survivorOf({ merges }: Outcome, player_id: string): string {
  return merges.get(player_id) ?? player_id;
}

/** Every player exists exactly once. */
function aboutPlayers({ players, totals, identities, merges }: Outcome): string[] {
  const wrong: string[] = [];
  for (const id of new Set([...players.keys(), ...totals.keys()])) {
    if (!players.has(id)) wrong.push(`${id} has totals and no profile`);
    if (!totals.has(id)) wrong.push(`${id} has a profile and no totals`);
    if (merges.has(id)) wrong.push(`${id} was merged and is still there`);
  }
  for (const [id, into] of merges) {
    if (!players.has(into)) wrong.push(`${id} was merged into ${into}, who is not there`);
  }
  const listed = [...players].flatMap(([id, { anonymous_ids }]) =>
    anonymous_ids.map((name) => `${name} ${id}`),
  );
  const bound = [...identities].map(([name, id]) => `${name} ${id}`);
  const [inProfiles, inIdentities] = [listed.sort().join(', '), bound.sort().join(', ')];
  if (inProfiles !== inIdentities)
    wrong.push(`profiles list ${inProfiles}, and identities are ${inIdentities}`);
  const external = [...players.values()].flatMap(({ external_id }) => external_id ?? []);
  if (new Set(external).size < external.length)
    wrong.push(`${external.join(', ')}: an external_id has two players`);
  return wrong;
}

/**
 * An anonymous_id belongs for ever to the player that identify answered for it, except after a conflict or a deletion.
 */
function aboutAnswers(outcome: Outcome): string[] {
  const { players, identities, answers } = outcome;
  const wrong: string[] = [];
  for (const { anonymous_id, player_id, conflict } of answers) {
    const now = survivorOf(outcome, player_id);
    if (!players.has(now)) wrong.push(`${player_id} was answered and names nobody`);
    if (anonymous_id === undefined || conflict || players.get(now)?.deleted === true) continue;
    const owner = identities.get(anonymous_id);
    if (owner !== now && players.get(owner ?? '')?.deleted !== true)
      wrong.push(`${anonymous_id} is of ${owner}, and ${player_id} was answered`);
  }
  return wrong;
}

/** Every event counts for the player that it names, both in the ledger and in the emission. */
function aboutSenders(outcome: Outcome): string[] {
  const wrong: string[] = [];
  for (const [key, { player_id }] of outcome.emitted) {
    const sent = outcome.sent.get(key);
    const named = sent?.player_id ?? outcome.identities.get(sent?.anonymous_id ?? '') ?? 'nobody';
    if (survivorOf(outcome, named) !== survivorOf(outcome, player_id))
      wrong.push(`${sent?.event} of ${named} was emitted for ${player_id}`);
  }
  for (const [key, { player_id, event }] of outcome.ledger) {
    const emitted = outcome.emitted.get(key);
    if (emitted === undefined) wrong.push(`${event.event} is in the ledger and was not emitted`);
    else if (survivorOf(outcome, emitted.player_id) !== survivorOf(outcome, player_id))
      wrong.push(`${event.event} is of ${player_id} in the ledger and was emitted for ${emitted.player_id}`);
  }
  return wrong;
}

/** The sums over all players follow from the sent events. */
function aboutSums({ sent, totals, emitted }: Outcome): string[] {
  const wrong: string[] = [];
  const oracle = new Oracle('EUR');
  let counted = 0;
  for (const event of sent.values()) if (oracle.take(as('everybody', event)) === 'counted') counted++;
  if (emitted.size !== counted) wrong.push(`${emitted.size} of ${counted} events were emitted`);
  const expected = oracle.players().get('everybody');
  for (const sum of SUMS) {
    const held = [...totals.values()].reduce((all, one) => all + one[sum], 0n);
    if (held !== (expected?.[sum] ?? 0n)) wrong.push(`${sum} of all is ${held}, not ${expected?.[sum]}`);
  }
  return wrong;
}

/** Each player's totals follow from the emitted events, and from the ledger. */
function aboutTotals(outcome: Outcome): string[] {
  const { players, totals, sent, emitted, ledger } = outcome;
  const wrong: string[] = [];
  const recompute = (events: Iterable<[string, SentEvent]>) => {
    const oracle = new Oracle('EUR');
    for (const [player_id, event] of events) {
      const verdict = oracle.take(as(survivorOf(outcome, player_id), event));
      if (verdict !== 'counted') wrong.push(`${event.event} counted and is a ${verdict}`);
    }
    return oracle.players();
  };
  const byEvents = recompute(
    [...emitted].flatMap(([key, { player_id }]): [string, SentEvent][] => {
      const event = sent.get(key);
      if (event === undefined) wrong.push(`${key} was emitted and never sent`);
      return event === undefined ? [] : [[player_id, event]];
    }),
  );
  const byLedger = recompute([...ledger.values()].map(({ player_id, event }) => [player_id, event]));
  for (const [id, held] of totals) {
    const compare = (what: string, expected: ExpectedPlayer | undefined, sums: readonly Sum[]) => {
      for (const sum of sums) {
        if (held[sum] !== (expected?.[sum] ?? 0n))
          wrong.push(`${sum} of ${id} is ${held[sum]}, by its ${what} ${expected?.[sum]}`);
      }
    };
    compare('events', byEvents.get(id), SUMS);
    // The ledger has no rows for sessions.
    compare(
      'ledger',
      byLedger.get(id),
      SUMS.filter((sum) => sum !== 'session_count'),
    );
    if (players.get(id)?.self_excluded !== (byEvents.get(id)?.status === 'self_excluded'))
      wrong.push(`the exclusion of ${id} is not what its events say`);
  }
  return wrong;
}

function as(anonymous_id: string, { event, timestamp, properties }: SentEvent): SentEvent {
  return { event, anonymous_id, timestamp, properties };
}
