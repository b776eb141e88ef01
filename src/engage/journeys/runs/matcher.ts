import { groupByEvent, shortOf, type EventGroup } from '../../../ingest/events/envelope.ts';
import type { LogBatch, LogRecord } from '../../../platform/event-log/port.ts';
import { TOPICS } from '../../../platform/event-log/topics.ts';
import { NIL_ID } from '../../../platform/ids.ts';
import { retryConflicts } from '../../../platform/postgres/retry.ts';
import type { Platform } from '../../../platform/platform.ts';
import { Definitions } from './definitions.ts';
import { EventFilters, mayMatter } from './event-filters.ts';
import { keepUnrated } from '../../triggers/unrated.ts';
import {
  deleteChecked,
  EVENTS_THAT_END,
  keepProgress,
  markChecked,
  MAX_HITS,
  publishReading,
  selectEnding,
  selectEventsThatEnd,
  selectHits,
  selectLeft,
  selectReading,
  selectUnchecked,
  selectWatched,
  type Exit,
  type EventName,
  type Hit,
  type HitPosition,
  type LookedUp,
  type UncheckedWait,
  type WaitHit,
} from './match-queries.ts';
import { awaits, exitOf } from './match-verdicts.ts';
import {
  deleteRest,
  insertRests,
  moveRest,
  pruneRests,
  selectRests,
  type MatchRest,
} from './match-rest-queries.ts';
import { mergedPartition } from './merge-queries.ts';
import { versionKey } from './run-row.ts';
import { repeatedEvents } from './repeated-events.ts';
import type { EventPlace } from './shapes.ts';
import { WatchedEvent } from './watched-event.ts';
import type { Wake } from './wake-queries.ts';
import { writeMatches } from './write-matches.ts';
import { exactJson } from '../../../platform/exact-json.ts';

export type MatcherDeps = Pick<Platform, 'postgres' | 'eventLog' | 'clock' | 'logger' | 'metrics'>;

/** An event that happened longer ago ends no wait and no run, as it starts none. */
const LONGEST_DELAY_MS = 24 * 3_600_000;
/** Waits that are checked at once. */
const MAX_CHECKED = 1_000;

/** Runs of one event that are looked at before the next event, and events whose further runs one turn looks at. */
const PAGE = 1_000;
const MAX_RESTS = 20;

/** Records of one partition that one check reads, and partitions that are read at the same time. */
const MAX_READ = 20_000;
const MAX_READ_AT_ONCE = 4;

/** A partition of a log of resolved events. */
interface LogPlace {
  log_id: string;
  partition: number;
}

/** Events of which runs are to be looked at: those that may end some, and those that may wake some. */
interface Wanted {
  ending: LookedUp[];
  waking: LookedUp[];
}

/** Wakes the runs that wait for an event, and ends those that an event ends. */
export class Matcher {
  readonly #deps: MatcherDeps;
  readonly #definitions = new Definitions();
  readonly #filters = new EventFilters(this.#definitions);

  /** The runs of one event that are looked at before the next event. */
  readonly #page: number;
  /** Called when an event has more runs than a page. */
  onRest: () => void = () => undefined;

  constructor(deps: MatcherDeps, page = PAGE) {
    this.#deps = deps;
    this.#page = page;
  }

  /**
   * Looks up the events of a batch. Handling it again changes nothing: a run that was woken waits no more. In a project
   * whose journeys wait for none of the events it costs one query.
   */
  async handle({ partition, records }: Pick<LogBatch, 'partition' | 'records'>): Promise<void> {
    const watched = await this.#watched(records);
    const last = watched.at(-1);
    if (last === undefined) return;
    const { postgres, eventLog } = this.#deps;
    const log_id = await eventLog.idOf(TOPICS.playerEvents);
    await publishReading(postgres.service, { log_id, partition, reading_to: last.record.offset + 1n });
    await this.#match({ log_id, partition }, watched);
  }

  /**
   * Looks up events again that the log has at this place, and whose amounts are known only now. They count from their
   * offsets: a run that has begun to wait since then waits for others. All runs of each event are looked at here: the log
   * has the event without these amounts, so that they would be unknown again for a run that is looked at later.
   */
  async lookAgain(place: LogPlace, records: readonly LogRecord[]): Promise<void> {
    const events = await this.#watched(records);
    // What is undecided still has an amount that no rate makes known, so it is not kept again.
    let left = await this.#wanted(events);
    while (left.ending.length > 0 || left.waking.length > 0) {
      left = await this.#matchPage(place, events, left, new Set());
    }
  }

  /**
   * Looks at the events that were looked up while a run that waits for them was not visible yet; returns whether there
   * may be more to check.
   */
  async check(): Promise<boolean> {
    const { postgres, eventLog } = this.#deps;
    const waits = await selectUnchecked(postgres.service, MAX_CHECKED);
    if (waits.length === 0) return false;
    const log_id = await eventLog.idOf(TOPICS.playerEvents);
    // After the waits were read: they are visible, so a later look-up sees them itself.
    const reading = await selectReading(postgres.service, log_id);
    const unfinished = new Set<UncheckedWait>();
    const look = async ({ partition, reading_to }: { partition: number; reading_to: bigint }) => {
      const missed = waits.filter(
        (wait) =>
          wait.log_id === log_id &&
          [partition, mergedPartition(partition)].includes(wait.partition) &&
          wait.from_offset < reading_to,
      );
      if (missed.length === 0) return;
      const looked_to = await this.#matchAgain({ log_id, partition, reading_to }, missed);
      if (looked_to === reading_to) return;
      for (const wait of missed) unfinished.add(wait);
      await retryConflicts(() => keepProgress(postgres.service, missed, looked_to));
    };
    for (let from = 0; from < reading.length; from += MAX_READ_AT_ONCE) {
      await Promise.all(reading.slice(from, from + MAX_READ_AT_ONCE).map(look));
    }
    const done = waits.filter((wait) => !unfinished.has(wait));
    await this.#endLeft(done.filter(isForLeaving));
    const [once, waiting] = [done.filter(({ seq }) => seq === 0), done.filter(({ seq }) => seq > 0)];
    // Merges lock waits in another order.
    if (waiting.length > 0) await retryConflicts(() => markChecked(postgres.service, waiting));
    if (once.length > 0) await retryConflicts(() => deleteChecked(postgres.service, once));
    return waits.length === MAX_CHECKED || unfinished.size > 0;
  }

  /** Ends the runs whose players left a segment before the run was visible. The survivor of a merge may have entered it. */
  async #endLeft(waits: readonly UncheckedWait[]): Promise<void> {
    const of_same = waits.filter(({ partition }) => partition >= 0);
    if (of_same.length === 0) return;
    const left = await selectLeft(this.#deps.postgres.service, of_same);
    await writeMatches(this.#deps, this.#definitions, {
      exits: left.map((run) => ({ ...run, outcome: 'exited' as const })),
    });
  }

  /** Looks at the events of one partition again, at some 20,000 of them; returns up to where it has looked. */
  async #matchAgain(
    { log_id, partition, reading_to }: { log_id: string; partition: number; reading_to: bigint },
    waits: readonly UncheckedWait[],
  ): Promise<bigint> {
    const from = waits.reduce((low, { from_offset }) => (from_offset < low ? from_offset : low), reading_to);
    const ending = waits.filter(isForEnding);
    const that_end =
      ending.length === 0 ? [] : await selectEventsThatEnd(this.#deps.postgres.service, ending);
    let read = 0;
    const keys = new Set([...waits, ...that_end].map(keyOf));
    for await (const batch of this.#deps.eventLog.read(TOPICS.playerEvents, partition, from, reading_to)) {
      const groups = groupByEvent(batch.records).filter(({ name }) => keys.has(keyOf(name)));
      await this.#match({ log_id, partition }, this.#fresh(batch.records, groups));
      read += batch.records.length;
      const last = batch.records.at(-1);
      if (last !== undefined && read >= MAX_READ) return last.offset + 1n;
    }
    return reading_to;
  }

  /** The events of the batch that some journey of their project waits for. */
  async #watched(records: readonly LogRecord[]): Promise<WatchedEvent[]> {
    const groups = groupByEvent(records);
    if (groups.length === 0) return [];
    const names = groups.map(({ name }) => name);
    const keys = new Set((await selectWatched(this.#deps.postgres.service, names)).map(keyOf));
    if (keys.size === 0) return [];
    return this.#fresh(
      records,
      groups.filter(({ name }) => keys.has(keyOf(name))),
    );
  }

  /** The events of these groups that did not happen too long ago, in the order of the log. */
  #fresh(records: readonly LogRecord[], groups: readonly EventGroup[]): WatchedEvent[] {
    const earliest_ms = this.#deps.clock.now_ms() - LONGEST_DELAY_MS;
    const found: WatchedEvent[] = [];
    for (const { name, places } of groups) {
      for (const place of places) {
        const record = records[place];
        const short = record && shortOf(record.value);
        if (record === undefined || short === undefined || short.occurred_at < earliest_ms) continue;
        found.push(new WatchedEvent(record, name, short));
      }
    }
    return groups.length > 1 ? found.toSorted((a, b) => (a.record.offset < b.record.offset ? -1 : 1)) : found;
  }

  /** Looks at a page of the runs of each event, and notes the events that have more. */
  async #match(place: LogPlace, events: readonly WatchedEvent[]): Promise<void> {
    if (events.length === 0) return;
    const { service } = this.#deps.postgres;
    const now = new Date(this.#deps.clock.now_ms());
    const undecided = new Set<WatchedEvent>();
    const { ending, waking } = await this.#matchPage(place, events, await this.#wanted(events), undecided);
    await keepUnrated(service, place, undecided, now);
    const restOf =
      (ends: boolean) =>
      ({ name: { tenant_id, project_id }, log_offset, after_run_id }: LookedUp): MatchRest => {
        return { ...place, tenant_id, project_id, log_offset, ends, after_run_id };
      };
    // An event has one rest: the runs that it ends come first in it.
    const of_ending = new Set(ending.map(({ index }) => index));
    const then = waking.filter(({ index }) => !of_ending.has(index));
    const rests = [...ending.map(restOf(true)), ...then.map(restOf(false))];
    if (rests.length === 0) return;
    await insertRests(service, rests, now);
    this.onRest();
  }

  /** Looks at a page of the runs of each event; returns the events that have more, from where these are to be looked at. */
  async #matchPage(
    place: LogPlace,
    events: readonly WatchedEvent[],
    { ending, waking }: Wanted,
    undecided: Set<WatchedEvent>,
  ): Promise<Wanted> {
    const { service } = this.#deps.postgres;
    const of_event = this.#page;
    // Runs that end first: they are woken no more.
    const ends_left = await this.#pages(
      ending,
      (after) => selectEnding(service, { ...place, events: ending, of_event, after }),
      (hits) => this.#end(place, hits, events, undecided),
    );
    const now = waking.filter(({ index }) => !ends_left.has(index));
    const wakes_left = await this.#pages(
      now,
      (after) => selectHits(service, { ...place, events: now, of_event, after }),
      (hits) => this.#wakeHit(place, hits, events, undecided),
    );
    const behind = (one: LookedUp, left: ReadonlyMap<number, string>): LookedUp[] => {
      const after_run_id = left.get(one.index);
      return after_run_id === undefined ? [] : [{ ...one, after_run_id }];
    };
    return {
      ending: ending.flatMap((one) => behind(one, ends_left)),
      waking: waking.flatMap((one) => (ends_left.has(one.index) ? [one] : behind(one, wakes_left))),
    };
  }

  /** Reads and handles the hits of these events; returns the events that have more, with the last run of each. */
  async #pages<One extends Hit>(
    events: readonly LookedUp[],
    select: (after: HitPosition | undefined) => Promise<One[]>,
    handle: (hits: readonly One[]) => Promise<void>,
  ): Promise<Map<number, string>> {
    const seen = new Map<number, { hits: number; run_id: string }>();
    let after: HitPosition | undefined;
    if (events.length > 0) {
      do {
        const hits = await select(after);
        await handle(hits);
        for (const { index, run_id } of hits)
          seen.set(index, { hits: (seen.get(index)?.hits ?? 0) + 1, run_id });
        after = hits.length === MAX_HITS ? hits.at(-1) : undefined;
      } while (after !== undefined);
    }
    return new Map(
      [...seen].flatMap(([index, { hits, run_id }]) => (hits >= this.#page ? [[index, run_id]] : [])),
    );
  }

  /**
   * Looks at further runs of events that had more than a page; returns whether there may be more. False also when it failed
   * for all of them: they are tried again after a pause.
   */
  async finish(): Promise<boolean> {
    const { postgres, eventLog, logger, clock } = this.#deps;
    const earliest = new Date(clock.now_ms() - LONGEST_DELAY_MS);
    await pruneRests(postgres.service, earliest, MAX_RESTS);
    const rests = await selectRests(postgres.service, MAX_RESTS);
    if (rests.length === 0) return false;
    const log_id = await eventLog.idOf(TOPICS.playerEvents);
    let failed = 0;
    for (const rest of rests) {
      try {
        await this.#finish(rest, log_id);
      } catch (error) {
        failed += 1;
        const { log_offset } = rest;
        logger.warn({ err: error, log_offset }, 'further runs of an event could not be looked at; they wait');
        await moveRest(postgres.service, rest);
      }
    }
    return failed < rests.length;
  }

  /** Looks at the next page of runs of one event. An event that the log has no more, or of too long ago, has none. */
  async #finish(rest: MatchRest, present_log_id: string): Promise<void> {
    const { service } = this.#deps.postgres;
    const { log_id, partition, log_offset, ends, after_run_id } = rest;
    const events = log_id === present_log_id ? await this.#eventAt(partition, log_offset) : [];
    const [event] = events;
    if (event === undefined) return deleteRest(service, rest);
    const { name, player_id, received_at: received_ms } = event;
    const looked_up = [{ index: 0, name, player_id, log_offset, received_ms, after_run_id }];
    const place = { log_id, partition };
    const lookup = { ...place, events: looked_up, of_event: this.#page, after: undefined };
    const undecided = new Set<WatchedEvent>();
    let hits: readonly Hit[];
    if (ends) {
      hits = await selectEnding(service, lookup);
      await this.#end(place, hits, events, undecided);
    } else {
      const waiting = await selectHits(service, lookup);
      await this.#wakeHit(place, waiting, events, undecided);
      hits = waiting;
    }
    await keepUnrated(service, place, undecided, new Date(this.#deps.clock.now_ms()));
    const last = hits.length === this.#page ? hits.at(-1) : undefined;
    if (last !== undefined) await moveRest(service, { ...rest, after_run_id: last.run_id });
    else if (ends) await moveRest(service, { ...rest, ends: false, after_run_id: NIL_ID });
    else await deleteRest(service, rest);
  }

  /** The event at this place of the log, alone; none when it is not there. */
  async #eventAt(partition: number, offset: bigint): Promise<WatchedEvent[]> {
    const { eventLog } = this.#deps;
    for await (const { records } of eventLog.read(TOPICS.playerEvents, partition, offset, offset + 1n))
      return this.#fresh(records, groupByEvent(records));
    return [];
  }

  /**
   * Those of the events that may end runs and those that may wake some. It is called after the matcher has published what
   * it reads: a run that is visible only after this call looks at the events itself.
   */
  async #wanted(events: readonly WatchedEvent[]): Promise<Wanted> {
    const names = [...new Set(events.map(({ name }) => name))];
    const filters = await this.#filters.of(this.#deps.postgres.service, names);
    const [ending, waking]: [LookedUp[], LookedUp[]] = [[], []];
    for (const [index, event] of events.entries()) {
      const { name, player_id, record, received_at } = event;
      const filter = filters.get(name);
      const read = () => event.event;
      const ends = filter === undefined || mayMatter(filter.ends, read);
      const wakes = filter === undefined || mayMatter(filter.wakes, read);
      if (!ends && !wakes) continue;
      const place = { log_offset: record.offset, received_ms: received_at, after_run_id: NIL_ID };
      const looked_up = { index, name, player_id, ...place };
      if (ends) ending.push(looked_up);
      if (wakes) waking.push(looked_up);
    }
    return { ending, waking };
  }

  /**
   * The hits without those of events that are on the log for the second time, where the run began, or began to wait, after
   * the first time.
   */
  async #new<One extends Hit>(
    { partition }: LogPlace,
    hits: readonly One[],
    events: readonly WatchedEvent[],
  ): Promise<readonly One[]> {
    const recordOf = ({ index }: Hit) => events[index]?.record;
    const doubtful = hits.filter((hit) => hit.may_repeat).flatMap((hit) => recordOf(hit) ?? []);
    if (doubtful.length === 0) return hits;
    const repeated = await repeatedEvents(this.#deps, partition, doubtful);
    return hits.filter((hit) => !hit.may_repeat || !repeated.has(recordOf(hit)?.offset ?? -1n));
  }

  /** Ends runs; several events may hit a run, of which the first in the order of the log wins. */
  async #end(
    place: LogPlace,
    hits: readonly Hit[],
    events: readonly WatchedEvent[],
    undecided: Set<WatchedEvent>,
  ): Promise<void> {
    const versions = await this.#definitions.load(this.#deps.postgres.service, hits);
    const exits = new Map<string, Exit>();
    const outcomeOf = (hit: Hit) => {
      const event = events[hit.index]?.event;
      return event && exitOf(versions.get(versionKey(hit))?.definition, event);
    };
    const ending = hits.filter((hit) => outcomeOf(hit) !== undefined);
    for (const hit of await this.#new(place, ending, events)) {
      const [outcome, watched] = [outcomeOf(hit), events[hit.index]];
      if (outcome === undefined || watched === undefined || exits.has(hit.run_id)) continue;
      if (outcome === 'undecided') {
        undecided.add(watched);
        continue;
      }
      const { tenant_id, project_id, run_id } = hit;
      exits.set(run_id, { tenant_id, project_id, run_id, outcome });
    }
    await writeMatches(this.#deps, this.#definitions, { exits: [...exits.values()] });
  }

  /** Wakes runs; several events may hit a run, of which the first in the order of the log wins. */
  async #wakeHit(
    place: LogPlace,
    hits: readonly WaitHit[],
    events: readonly WatchedEvent[],
    undecided: Set<WatchedEvent>,
  ): Promise<void> {
    const versions = await this.#definitions.load(this.#deps.postgres.service, hits);
    const wakes = new Map<string, Wake>();
    const verdictOf = (hit: WaitHit) => {
      const event = events[hit.index]?.event;
      return event === undefined ? false : awaits(versions.get(versionKey(hit))?.definition, hit, event);
    };
    const waking = hits.filter((hit) => verdictOf(hit) !== false);
    for (const hit of await this.#new(place, waking, events)) {
      const watched = events[hit.index];
      if (watched === undefined || wakes.has(hit.run_id)) continue;
      const { record, event } = watched;
      if (verdictOf(hit) === undefined) {
        undecided.add(watched);
        continue;
      }
      const { tenant_id, project_id, run_id, seq, node_id } = hit;
      const kept = { part: 'events', name: node_id, json: exactJson(event.properties) } as const;
      const behind = placeBehind(place, record, hit.is_merged);
      const woken_by = { kind: 'event', behind } as const;
      wakes.set(run_id, { tenant_id, project_id, run_id, seq, woken_by, kept });
    }
    await writeMatches(this.#deps, this.#definitions, { wakes: [...wakes.values()] });
  }
}

const isForEnding = ({ event }: UncheckedWait) => event === EVENTS_THAT_END;
const isForLeaving = ({ seq, event }: UncheckedWait) => seq === 0 && event !== EVENTS_THAT_END;
const keyOf = ({ tenant_id, project_id, event }: EventName) => `${tenant_id} ${project_id} ${event}`;

/** Where the events after this one begin. */
function placeBehind(
  { log_id, partition }: { log_id: string; partition: number },
  { offset }: LogRecord,
  is_merged: boolean,
): EventPlace {
  const place = is_merged ? mergedPartition(partition) : partition;
  return { partition: place, log_id, from_offset: String(offset + 1n) };
}
