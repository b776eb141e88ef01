import type { PlayerEvent } from '../../../ingest/events/envelope.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Committed, FiringEvent, Listener, ListenerRef, TriggerKind } from '../../triggers/kind.ts';
import type { Definition } from '../graph/shapes.ts';
import { Definitions } from './definitions.ts';
import { countEntries, enter, type Entrant } from './entry.ts';
import { verdictOn } from './event-where.ts';
import { noteJourneyError, selectJourney, selectListening, type JourneyKey } from './journey-queries.ts';
import { MAX_CONTEXT_BYTES, versionKey } from './run-row.ts';
import type { WaitStart } from './wait-starts.ts';
import { storedBytes } from '../../../platform/exact-json.ts';

type Deps = Pick<Platform, 'postgres' | 'clock' | 'logger' | 'metrics'>;

/**
 * Active journeys as listeners: an event that satisfies the trigger's `where` starts a run of its player. If a branch of
 * the journey asks ClickHouse, the run begins once ClickHouse has the event, so that the branch sees it.
 */
export function journeyTriggers(deps: Deps): TriggerKind {
  const { postgres } = deps;
  const definitions = new Definitions();
  return {
    kind: 'journey',
    async listeners(sql, projects) {
      const live = await selectListening(sql, projects);
      const versions = await definitions.load(sql, live);
      return live.map((journey): Listener => {
        const { tenant_id, project_id, journey_id, trigger_event, activated_at } = journey;
        const definition = versions.get(versionKey(journey))?.definition;
        return {
          tenant_id,
          project_id,
          listener_id: journey_id,
          event: trigger_event ?? '',
          since: activated_at,
          // What this program cannot read is recorded, and decided by one that can.
          accepts: (event) => (definition === undefined ? true : satisfies(journey_id, definition, event)),
        };
      });
    },
    async open(listener) {
      const ref = journeyOf(listener);
      const live = await readLive(postgres.service, definitions, ref);
      if (live === undefined) return undefined;
      return {
        reads_clickhouse: asksClickHouse(live.definition),
        accepts: (event) => satisfies(listener.listener_id, live.definition, event),
        judge: (player_ids) => Promise.resolve(new Set(player_ids)),
        fire: (tx, events) => fire(deps, definitions, tx, ref, events),
      };
    },
    noteFailure: (listener, message) => noteJourneyError(postgres.service, journeyOf(listener), message),
  };
}

function journeyOf({ tenant_id, project_id, listener_id }: ListenerRef): JourneyKey {
  return { tenant_id, project_id, journey_id: listener_id };
}

/** The live version of a journey; undefined: it is not active. Rejects when the version cannot be read. */
async function readLive(
  sql: Tx,
  definitions: Definitions,
  ref: JourneyKey,
): Promise<{ version: number; definition: Definition } | undefined> {
  const journey = await selectJourney(sql, ref);
  if (journey?.status !== 'active' || journey.deleted_at !== null || journey.version === null)
    return undefined;
  const { version } = journey;
  const loaded = (await definitions.load(sql, [{ ...ref, version }])).get(versionKey({ ...ref, version }));
  if (loaded?.definition === undefined) {
    throw new Error(`version ${version} cannot be read: ${loaded?.unreadable ?? 'it is unknown'}`);
  }
  return { version, definition: loaded.definition };
}

/**
 * Whether the event is one of the trigger's; undefined: no rate is known for an amount that decides it. What became of a
 * message of the journey does not start a run of it: that would send the next message, without end.
 */
function satisfies(journey_id: string, { trigger }: Definition, event: PlayerEvent): boolean | undefined {
  if (trigger.kind !== 'event' || trigger.event !== event.event) return false;
  if (event.properties['journey_id'] === journey_id) return false;
  return verdictOn(trigger.where, event);
}

function asksClickHouse({ graph }: Definition): boolean {
  return [...graph.nodes.values()].some(
    (node) => node.type === 'branch' && node.branches.some(({ condition }) => condition.kind === 'segment'),
  );
}

async function fire(
  { clock, metrics }: Deps,
  definitions: Definitions,
  tx: Tx,
  ref: JourneyKey,
  events: readonly FiringEvent[],
): Promise<Committed | undefined> {
  // A journey that was paused meanwhile starts nothing.
  const live = await readLive(tx, definitions, ref);
  if (live === undefined) return undefined;
  const { version, definition } = live;
  const verdicts = new Map(events.map((one) => [one, satisfies(ref.journey_id, definition, one.event)]));
  // The version was published since: the next attempt leaves the event to its rate.
  if ([...verdicts.values()].includes(undefined))
    throw new Error('the trigger depends on an amount without a rate');
  const entrants = events
    .filter((one) => verdicts.get(one) === true)
    .map((firing): Entrant => {
      const { player_id, event_key, event } = firing;
      const { event: name, ingestion_id } = event;
      const trigger = { kind: 'event', event: name, ingestion_id } as const;
      const context = { trigger_payload: payloadOf(event) };
      return { player_id, trigger_key: event_key, trigger, context, start: startOf(firing) };
    });
  const now = new Date(clock.now_ms());
  const entered = await enter(tx, { version: { ...ref, version }, definition, now }, entrants);
  return () => countEntries(metrics, entered);
}

/**
 * What the player does after the event counts for the run, however late the run begins. The events of a merged player
 * are on two partitions, so times decide.
 */
function startOf({ event, player_id, partition, log_offset, log_id }: FiringEvent): WaitStart | undefined {
  if (log_id === null || event.player_id !== player_id) return undefined;
  return { partition, log_id, from_offset: log_offset + 1n };
}

/** The properties of the event; none where they are larger than a context may be. */
function payloadOf({ properties }: PlayerEvent): unknown {
  return storedBytes(properties) > MAX_CONTEXT_BYTES ? {} : properties;
}
