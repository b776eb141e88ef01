import { notifyRunners } from './claim-queries.ts';
import { isInShare, membersWithin } from '../../experiments/draw.ts';
import { globalRound, type HeldOutBy } from '../../experiments/global.ts';
import { newId } from '../../../platform/ids.ts';
import type { Metrics } from '../../../platform/metrics.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { projectRefOf } from '../../../tenants/project-ref.ts';
import { hasServiceTemplate } from '../../templates/queries.ts';
import { holdPlayers } from '../../triggers/trigger-queries.ts';
import type { Definition } from '../graph/shapes.ts';
import {
  countRunsSince,
  freeOnceKeys,
  insertRuns,
  lockEntry,
  notifyChecks,
  ONCE,
  type NewRun,
} from './entry-queries.ts';
import type { RunTrigger, VersionRef } from './run-row.ts';
import type { RunContext } from './shapes.ts';
import { endsByEvent, type WaitStart, type WaitStarts } from './wait-starts.ts';

/** A player who enters a journey. */
export interface Entrant {
  player_id: string;
  /** What the player enters by: nothing starts two runs of a player. */
  trigger_key: string;
  trigger: RunTrigger;
  context: RunContext;
  /** From where on the log the player's events are later than what starts the run; absent: those of the entry. */
  start?: WaitStart | undefined;
}

/** How the entrants come. */
export interface Entry {
  version: VersionRef;
  definition: Definition;
  now: Date;
  /** A caller forces the run: rules about entering again and the cap of entries are not asked. */
  is_forced?: boolean;
  /** Where the log ended before the transaction; absent: what entrants have no start for counts by time. */
  starts?: WaitStarts | undefined;
  /** The segment of which the entrants were members when they were selected. */
  members_of?: string;
}

/** What became of the entrants. */
export interface Entered {
  /** Runs that have begun, in no order. */
  run_ids: string[];
  /** Runs that have ended at once, because their players are held out. */
  held_out: string[];
  /** Those who may not enter again. */
  refused: number;
  /** Those who were above `max_entries_per_hour`, of both arms: the last ones. */
  limited: number;
}

const HOUR_MS = 3_600_000;

/** Begins runs of a version, within the transaction that decides that they begin. Entering again starts nothing twice. */
export async function enter(tx: Tx, entry: Entry, entrants: readonly Entrant[]): Promise<Entered> {
  const { version, definition, now, starts, members_of, is_forced = false } = entry;
  const { re_entry, max_entries_per_hour } = definition.settings;
  const min_interval_ms = is_forced ? undefined : re_entry.min_interval_ms;
  const most = is_forced ? undefined : max_entries_per_hour;
  // A merge that has begun ends first, and one that begins later finds these runs.
  await holdPlayers(
    tx,
    entrants.map(({ player_id }) => ({ ...projectRefOf(version), player_id })),
  );
  if (min_interval_ms !== undefined || most !== undefined) await lockEntry(tx, version);
  const room = await roomFor(tx, entry, most);
  const wanted = min_interval_ms === undefined ? entrants : firstOfEach(entrants);
  const { heldOutBy, is_of_service, freed_before } = await drawOf(tx, entry);
  const drawn = wanted.map(({ player_id }) => heldOutBy(player_id));
  const is_held_out = drawn.map((by) => by !== null);
  const admitted = wanted.slice(0, membersWithin(is_held_out, room));
  const mode = is_forced ? 'always' : re_entry.mode;
  if (mode === 'once' && freed_before !== null) {
    const player_ids = admitted.map(({ player_id }) => player_id);
    await freeOnceKeys(tx, version, player_ids, freed_before);
  }
  const runs = admitted.map(({ trigger_key, start, ...entrant }, place): NewRun => {
    return {
      ...entrant,
      run_id: newId(),
      trigger_key: mode === 'once' ? ONCE : trigger_key,
      start: start ?? starts?.of({ ...version, player_id: entrant.player_id }),
      held_out_by: drawn[place] ?? null,
    };
  });
  const { start_node_id } = definition.graph;
  const [ends_by_event, to_leave] = [endsByEvent(definition), segmentsToLeave(definition)];
  const rules = { re_entry: mode, min_interval_ms, ends_by_event, to_leave, members_of };
  const terms = { version, start_node_id, now, freed_before, is_of_service, ...rules };
  const begun = await insertRuns(tx, terms, runs);
  const run_ids = begun.filter(({ is_held_out }) => !is_held_out).map(({ run_id }) => run_id);
  if (run_ids.length > 0) {
    await notifyRunners(tx);
    if (ends_by_event || to_leave.length > 0) await notifyChecks(tx);
  }
  return {
    run_ids,
    held_out: begun.filter(({ is_held_out }) => is_held_out).map(({ run_id }) => run_id),
    refused: entrants.length - wanted.length + admitted.length - begun.length,
    limited: wanted.length - admitted.length,
  };
}

/** The segments whose leaving ends runs of the definition. */
function segmentsToLeave({ settings: { exit_on } }: Definition): string[] {
  return exit_on.flatMap((rule) => ('segment_exited' in rule ? [rule.segment_exited] : []));
}

/** How many runs may begin now. */
async function roomFor(
  tx: Tx,
  { version, now }: Pick<Entry, 'version' | 'now'>,
  most: number | undefined,
): Promise<number> {
  if (most === undefined) return Number.POSITIVE_INFINITY;
  const begun = await countRunsSince(tx, version, new Date(now.getTime() - HOUR_MS), most);
  return Math.max(most - begun, 0);
}

function firstOfEach(entrants: readonly Entrant[]): Entrant[] {
  const of_players = new Map<string, Entrant>();
  for (const one of entrants) if (!of_players.has(one.player_id)) of_players.set(one.player_id, one);
  return [...of_players.values()];
}

/** Whether the player is one of the share that gets nothing: always the same players of a journey. */
export function isInHoldout(journey_id: string, player_id: string, percent: number): boolean {
  return isInShare(`${journey_id}:holdout:${player_id}`, percent);
}

/** Who is held out of a journey. */
interface JourneyDraw {
  heldOutBy: (player_id: string) => HeldOutBy | null;
  /** The journey has a service message. */
  is_of_service: boolean;
  /** A run that the project held out before this is of an earlier round, and counts as no entry; null: there is none. */
  freed_before: Date | null;
}

/**
 * Who is held out, by the project first. It holds nobody out of a journey that has a service message: it must reach its
 * player, and a run is held out as a whole.
 */
async function drawOf(
  tx: Tx,
  { version, definition, now }: Pick<Entry, 'version' | 'definition' | 'now'>,
): Promise<JourneyDraw> {
  const template_ids = [...definition.graph.nodes.values()].flatMap((node) =>
    node.type === 'send_message' ? [node.template_id] : [],
  );
  const { isHeldOut, begins_at } = await globalRound(tx, projectRefOf(version), now);
  const is_of_service = await hasServiceTemplate(tx, projectRefOf(version), template_ids);
  const { holdout_percent } = definition.settings;
  return {
    is_of_service,
    freed_before: is_of_service ? begins_at && now : begins_at,
    heldOutBy: (player_id) => {
      if (!is_of_service && isHeldOut(player_id)) return 'project';
      return isInHoldout(version.journey_id, player_id, holdout_percent) ? 'experiment' : null;
    },
  };
}

/** Counts what became of entrants; to be called once their transaction is committed, as it may be repeated. */
export function countEntries(
  { journeyEntries }: Pick<Metrics, 'journeyEntries'>,
  { run_ids, held_out, refused, limited }: Entered,
): void {
  const counts = { started: run_ids.length, held_out: held_out.length, refused, limited };
  for (const [outcome, count] of Object.entries(counts))
    if (count > 0) journeyEntries.inc({ outcome }, count);
}
