import { encodeAccepted } from '../../../src/ingest/events/envelope.ts';
import { parseRecord } from '../../../src/ledger/fold/fold-event.ts';
import type { GivenIds } from '../../../src/players/identity/decide.ts';
import { betKindOf, type LedgerRow } from '../../../src/ledger/money/ledger.ts';
import type { SentEvent } from '../../oracle/oracle.ts';
import { START_MS, toSent, type Happening } from './few-ids.ts';
import { consume } from './model-fold.ts';
import { identify, softDelete } from './model-identify.ts';
import type { Outcome } from './outcome.ts';
import type { Steps } from './read-committed.ts';
import { PROJECT_ID, Process, TENANT_ID, World, type Faults } from './world.ts';

export interface ModelEvent extends Happening {
  /**
   * Below {@link DEVICES}: selects an anonymous_id. From there on: selects a player_id of an earlier answer, if there
   * is one.
   */
  who: number;
  partition: number;
}

/** An identify call, or the deletion of a player from an earlier answer. */
export interface ModelCall {
  /** First letters of the given ids: anonymous_id, external_id, player_id (of an earlier answer). */
  ids: 'a' | 'e' | 'p' | 'ap' | 'ae' | 'ep' | 'aep' | 'delete';
  anonymous: number;
  external: number;
  player: number;
}

/** The events and calls, and a seed for their interleaving. */
export interface Program {
  events: ModelEvent[];
  calls: ModelCall[];
  /** Maximum number of processes that crash or get a second one beside them. */
  crashes: number;
  seed: number;
}

/** Number of anonymous ids that events and calls use. */
export const DEVICES = 6;
const CLIENTS = 3;
const MAX_STEPS = 50_000;
const CRASH_ONE_IN = 40;

/** Runs the program and returns the final state. Throws when it does not end. */
export function runProgram(program: Program, faults: Faults): World {
  const world = new World(program.seed, faults);
  const callsOf = (client: number) => program.calls.filter((_, place) => place % CLIENTS === client);
  const processes = [
    new Process(world, () => intake(world, program.events)),
    ...world.log.map((_, partition) => consumer(world, partition)),
    ...Array.from({ length: CLIENTS }, (_, i) => client(world, callsOf(i))),
  ];
  schedule(world, processes, program.crashes);
  return world;
}

/** Lets random processes take one step each, and crashes some on the way. */
function schedule(world: World, processes: Process[], crashes: number): void {
  const { dice } = world;
  for (let steps = 0, left = crashes; processes.length > 0; steps++) {
    const ready = processes.filter((process) => !process.isBlocked());
    const process = ready[dice.roll(ready.length)];
    if (process === undefined || steps > MAX_STEPS) throw new Error('it never ends');
    if (left > 0 && process.successor !== undefined && dice.roll(CRASH_ONE_IN) === 0) {
      left--;
      world.met.crashes++;
      // The process either dies, or is only considered dead and continues beside its successor.
      if (dice.roll(3) > 0) {
        process.die();
        processes.splice(processes.indexOf(process), 1);
      }
      processes.push(process.successor());
    } else if (process.steps.next().done === true) {
      processes.splice(processes.indexOf(process), 1);
    }
  }
}

function consumer(world: World, partition: number): Process {
  return new Process(
    world,
    (process) => consume(process, partition),
    () => consumer(world, partition),
  );
}

/** Makes its calls one after the other. When it dies, its successor makes the remaining ones. */
function client(world: World, calls: ModelCall[]): Process {
  const work = function* (process: Process): Steps {
    for (let call = calls.shift(); call !== undefined; call = calls.shift()) {
      const known = knownPlayer(world, call.player);
      if (call.ids === 'delete') {
        if (known !== undefined) yield* softDelete(process, known);
        continue;
      }
      const given: GivenIds = {
        anonymous_id: call.ids.includes('a') ? `device-${call.anonymous}` : undefined,
        external_id: call.ids.includes('e') ? `person-${call.external}` : undefined,
        player_id: call.ids.includes('p') ? known : undefined,
      };
      if (Object.values(given).some((id) => id !== undefined)) yield* identify(process, given);
    }
  };
  return new Process(world, work, () => client(world, calls));
}

function knownPlayer({ answers }: World, player: number): string | undefined {
  return answers[player % Math.max(1, answers.length)]?.player_id;
}

function* intake(world: World, events: readonly ModelEvent[]): Steps {
  for (const event of events) {
    yield;
    const { who, partition } = event;
    const log = world.log[partition] ?? [];
    const known = who < DEVICES ? undefined : knownPlayer(world, who);
    const ids = known === undefined ? { anonymous_id: `device-${who % DEVICES}` } : { player_id: known };
    const body: SentEvent = { ...toSent(event), ...ids };
    const place = String(log.length).padStart(11, '0');
    const ingestion_id = `01900000-0000-7000-8000-${partition}${place}`;
    const stamp = {
      ingestion_id,
      tenant_id: TENANT_ID,
      project_id: PROJECT_ID,
      environment: 'dev',
      received_at_ms: START_MS + 86_400_000,
    };
    const value = encodeAccepted(stamp, 0, JSON.stringify(body));
    const parsed = parseRecord({ offset: BigInt(log.length), key: 'any', value });
    if (!('event' in parsed)) throw new Error(parsed.rejection.message);
    world.sent.set(`${ingestion_id} 0`, body);
    log.push(parsed.event);
  }
  world.isLogClosed = true;
}

/** The final state. */
export function outcomeOf(world: World): Outcome {
  const emitted = world.emitted.flatMap(({ events }) => events);
  const ledger = [...world.ledger.committed().values()];
  return {
    players: world.players.committed(),
    totals: world.totals.committed(),
    identities: world.identities.committed(),
    merges: new Map([...world.merges.committed()].map(([id, { into }]) => [id, into])),
    ledger: new Map(ledger.map((row) => [keyOf(row), { player_id: row.player_id, event: eventOf(row) }])),
    emitted: new Map(emitted.map((event) => [keyOf(event), event])),
    sent: world.sent,
    answers: world.answers,
  };
}

function keyOf({ ingestion_id, event_index }: { ingestion_id: string; event_index: number }): string {
  return `${ingestion_id} ${event_index}`;
}

/** The money event that a ledger row records. */
export function eventOf({
  event,
  reference,
  occurred_at_ms,
  movement_id,
  ...money
}: Pick<
  LedgerRow,
  | 'event'
  | 'reference'
  | 'occurred_at_ms'
  | 'movement_id'
  | 'amount'
  | 'payout'
  | 'bonus_stake'
  | 'bonus_payout'
  | 'currency'
  | 'reason'
>): SentEvent {
  const properties: Record<string, unknown> = {};
  properties[betKindOf(event) === undefined ? 'transaction_id' : 'bet_id'] = reference;
  if (movement_id !== null)
    properties[event.endsWith('_reversed') ? 'reversal_id' : 'movement_id'] = movement_id;
  for (const name of ['amount', 'payout', 'bonus_stake', 'bonus_payout', 'currency', 'reason'] as const) {
    const value = money[name];
    if (value !== null) properties[name] = String(value);
  }
  return { event, timestamp: new Date(occurred_at_ms).toISOString(), properties };
}

/**
 * Faults found during the run, and checks that only the model can do: deleted players and the index of external_ids.
 */
export function complaintsOnTheWay(world: World): string[] {
  const wrong = [...world.complaints];
  const players = world.players.committed();
  for (const [id, { anonymous_ids, external_id }] of world.deleted) {
    const now = players.get(id);
    if (String(now?.anonymous_ids) !== String(anonymous_ids) || now?.external_id !== external_id)
      wrong.push(`${id} was deleted and changed after that`);
  }
  const named = [...players].flatMap(([id, { external_id }]) =>
    external_id === null ? [] : [`${external_id} ${id}`],
  );
  const indexed = [...world.externals.committed()].map(([name, id]) => `${name} ${id}`);
  const [held, found] = [named.sort().join(', '), indexed.sort().join(', ')];
  if (held !== found) wrong.push(`players have ${held}, indexed are ${found}`);
  return wrong;
}
