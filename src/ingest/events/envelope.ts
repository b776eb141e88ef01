import { storedJson } from '../../analytics/stored-json.ts';
import { parseExact } from '../../platform/exact-json.ts';
import { moneyOnly } from './money-only.ts';
import type { EventBody } from './validate.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** A record that intake appends to the topic `events`: one per event. */
export interface AcceptedEvent extends ProjectRef {
  ingestion_id: string;
  /** Index in the batch; 0 for a single event. ingestion_id and index identify the event in every later stage. */
  index: number;
  environment: string;
  received_at_ms: number;
  event: EventBody;
  /** A client key sent the event: its `dedupe_id` has nothing to do with those that server keys send. */
  from_client?: true;
  /**
   * The event was named by its sender: the first one of its ingestion_id and index stands. `short`: a repetition has the same
   * time, so ClickHouse drops it however late it comes; `long`: it may have another one.
   */
  named?: 'short' | 'long';
  /** The reason of the dead letter that the record is a replay of, if it is one of {@link REASONS_OF_DUPLICATES}. */
  replay_of?: DeadLetterReason;
}

/** The fields that all events of one request share. */
export type Stamp = Omit<AcceptedEvent, 'index' | 'event' | 'named' | 'replay_of'>;

/**
 * Writes an accepted event around the JSON text of its body. Intake has parsed and validated the text; reusing it
 * saves serializing it again. The stamp's values are UUIDs, numbers and enum values: they need no escapes.
 */
export function encodeAccepted(
  stamp: Stamp,
  index: number,
  bodyJson: string,
  named?: AcceptedEvent['named'],
): string {
  return (
    `{"ingestion_id":"${stamp.ingestion_id}","index":${index},"tenant_id":"${stamp.tenant_id}",` +
    `"project_id":"${stamp.project_id}","environment":"${stamp.environment}",` +
    `"received_at_ms":${stamp.received_at_ms},"event":${bodyJson}${stamp.from_client === true ? ',"from_client":true' : ''}` +
    `${named === undefined ? '' : `,"named":"${named}"`}}`
  );
}

/** More than the length of an accepted event's text up to its project, and less than up to what the caller wrote. */
const HEAD_LENGTH = 180;

/**
 * Whether a record of the topic `events`, as {@link encodeAccepted} writes it, is of this project: without parsing it. The
 * ids come before everything that the caller wrote.
 */
export function isOfProject(line: string, ids: { tenant_id: string; project_id: string }): boolean {
  const { tenant_id, project_id } = ids;
  return line.slice(0, HEAD_LENGTH).includes(`,"tenant_id":"${tenant_id}","project_id":"${project_id}"`);
}

/** The log key of an event: the log keeps the order of events with the same project and identity. */
export function identityKey(project_id: string, event: EventBody): string {
  return identityKeyOf(project_id, event.player_id?.toLowerCase() ?? event.anonymous_id ?? '');
}

/** The log key of events that name a player by this player_id (in lower case) or anonymous_id. */
export function identityKeyOf(project_id: string, id: string): string {
  return `${project_id}:${id}`;
}

/** The bonus parts of a money event; most have none. */
const PARTS = ['base_bonus_stake', 'base_bonus_payout'] as const;
/** What a money event counts in its totals (docs/feeds.md, What counts how). */
const COUNTED = ['stake_counted', 'payout_counted', 'bonus_stake_counted', 'bonus_payout_counted'] as const;

/** Every field of {@link EventMoney}. */
export const EVENT_MONEY = ['base_amount', 'base_payout', ...PARTS, ...COUNTED] as const;

/** The money of an event in the smallest unit of the base currency; null or absent: it has none, or no rate is known. */
export type EventMoney = { base_amount: bigint | null; base_payout: bigint | null } & Partial<
  Record<(typeof PARTS | typeof COUNTED)[number], bigint | null>
>;

/**
 * A record that the fold appends to the topic `player-events`, keyed by {@link playerKey}. It is exactly a row of the
 * ClickHouse table `events`, so the sink inserts the lines unchanged. Times are in milliseconds, amounts in the base
 * currency's smallest unit; `properties` is an object, whose numbers the line has as {@link storedJson} writes them: readers
 * of single numbers use `parseExact`.
 */
export interface PlayerEvent extends ProjectRef, EventMoney {
  event: string;
  player_id: string;
  occurred_at: number;
  received_at: number;
  ingestion_id: string;
  event_index: number;
  /**
   * What the event is about, game and category or sport and type of bet, where another event of its bet says it. Absent: what
   * the properties say.
   */
  item?: string;
  item_group?: string;
  properties: Record<string, unknown>;
}

/** The fields at the start of a resolved event's line: its name and its player. See {@link headOf}. */
export type EventHead = Pick<PlayerEvent, 'tenant_id' | 'project_id' | 'event' | 'player_id'>;

const UUID_LENGTH = 36;
const BEFORE_TENANT = '{"tenant_id":"';
const BEFORE_PROJECT = '","project_id":"';
const BEFORE_EVENT = '","event":';
const BEFORE_PLAYER = ',"player_id":"';
const BEFORE_ITEM = ',"item":';
const BEFORE_PROPERTIES = ',"properties":';

/** Writes a resolved event as one JSONEachRow line, money as JSON integers. */
export function encodePlayerEvent(row: PlayerEvent): string {
  return (
    BEFORE_TENANT +
    row.tenant_id +
    BEFORE_PROJECT +
    row.project_id +
    BEFORE_EVENT +
    JSON.stringify(row.event) +
    BEFORE_PLAYER +
    row.player_id +
    `","occurred_at":${row.occurred_at},"received_at":${row.received_at},` +
    `"ingestion_id":"${row.ingestion_id}","event_index":${row.event_index},"base_amount":${row.base_amount},` +
    `"base_payout":${row.base_payout}${countedJson(row)}${itemJson(row)},"properties":${storedJson(row.properties)}}`
  );
}

/** The fields without which ClickHouse would take other values: a part of 0 was sent, and is not null. */
function countedJson(row: EventMoney): string {
  let json = '';
  for (const name of PARTS) if ((row[name] ?? null) !== null) json += `,"${name}":${row[name]}`;
  for (const name of COUNTED) if (Number(row[name] ?? 0) !== 0) json += `,"${name}":${row[name]}`;
  return json;
}

function itemJson({ item, item_group = '' }: Pick<PlayerEvent, 'item' | 'item_group'>): string {
  return item === undefined
    ? ''
    : `${BEFORE_ITEM}${JSON.stringify(item)},"item_group":${JSON.stringify(item_group)}`;
}

/**
 * Reads the head of a line of {@link encodePlayerEvent}; undefined for any other text. Most readers of the topic need
 * only the head of most events. Parsing whole lines takes twice as long, and ten times as long where properties are
 * long.
 */
export function headOf(line: string): EventHead | undefined {
  const tenant_at = BEFORE_TENANT.length;
  const project_at = tenant_at + UUID_LENGTH + BEFORE_PROJECT.length;
  const event_at = project_at + UUID_LENGTH + BEFORE_EVENT.length;
  // Inside a JSON string a quote is escaped, so the name cannot contain this text.
  const event_end = line.indexOf(BEFORE_PLAYER, event_at);
  const isLine =
    line.startsWith(BEFORE_TENANT) &&
    line.startsWith(BEFORE_PROJECT, tenant_at + UUID_LENGTH) &&
    line.startsWith(BEFORE_EVENT, project_at + UUID_LENGTH) &&
    event_end !== -1;
  const event = isLine ? parseText(line.slice(event_at, event_end)) : undefined;
  if (event === undefined) return undefined;
  const player_at = event_end + BEFORE_PLAYER.length;
  return {
    tenant_id: line.slice(tenant_at, tenant_at + UUID_LENGTH),
    project_id: line.slice(project_at, project_at + UUID_LENGTH),
    event,
    player_id: line.slice(player_at, player_at + UUID_LENGTH),
  };
}

/** The player of a line of {@link encodePlayerEvent}. For other texts the result has no meaning. */
export function playerOf(line: string): string {
  const at = line.indexOf(BEFORE_PLAYER, BEFORE_TENANT.length + UUID_LENGTH) + BEFORE_PLAYER.length;
  return line.slice(at, at + UUID_LENGTH);
}

/**
 * The beginning of a line of {@link encodePlayerEvent}, up to the name of the event: equal for events of one name and
 * project. Comparing it costs a fraction of reading the head. For other texts the result has no meaning.
 */
function beginningOf(line: string): string {
  return line.slice(0, line.indexOf(BEFORE_PLAYER, BEFORE_TENANT.length + UUID_LENGTH));
}

/** The events of one name of a project in a batch. */
export interface EventGroup {
  name: Pick<EventHead, 'tenant_id' | 'project_id' | 'event'>;
  /** Where they are in the batch, in its order. */
  places: number[];
}

/**
 * Groups the lines of {@link encodePlayerEvent} in a batch by project and name; other texts are ignored. Thousands of
 * lines are of few names, so the heads of few are read.
 */
export function groupByEvent(records: readonly { value: string }[]): EventGroup[] {
  const groups = new Map<string, EventGroup>();
  const by_beginning = new Map<string, EventGroup | undefined>();
  for (let place = 0; place < records.length; place++) {
    const { value } = records[place] ?? { value: '' };
    const beginning = beginningOf(value);
    let group = by_beginning.get(beginning);
    if (group === undefined && !by_beginning.has(beginning)) {
      group = groupOf(groups, headOf(value));
      by_beginning.set(beginning, group);
    }
    group?.places.push(place);
  }
  return [...groups.values()];
}

/** A name may be written in several ways: with other escapes. */
function groupOf(groups: Map<string, EventGroup>, head: EventHead | undefined): EventGroup | undefined {
  if (head === undefined) return undefined;
  const { tenant_id, project_id, event } = head;
  const key = `${tenant_id} ${project_id} ${event}`;
  const known = groups.get(key);
  if (known !== undefined) return known;
  const group: EventGroup = { name: { tenant_id, project_id, event }, places: [] };
  groups.set(key, group);
  return group;
}

/** The player and the times of a line of {@link encodePlayerEvent}, without parsing it; undefined for any other text. */
export function shortOf(
  line: string,
): Pick<PlayerEvent, 'player_id' | 'occurred_at' | 'received_at'> | undefined {
  // Inside a JSON string a quote is escaped, so the name of the event cannot contain this text.
  const found = /,"player_id":"(.{36})","occurred_at":(-?\d{1,16}),"received_at":(-?\d{1,16}),/.exec(line);
  if (found === null) return undefined;
  const [, player_id = '', occurred_at, received_at] = found;
  return { player_id, occurred_at: Number(occurred_at), received_at: Number(received_at) };
}

/** What names the event of a line of {@link encodePlayerEvent}, however often it is on the log; undefined for any other text. */
export function eventIdOf(line: string): string | undefined {
  const found = /,"received_at":-?\d{1,16},"ingestion_id":"(.{36})","event_index":(\d{1,16}),/.exec(line);
  return found === null ? undefined : `${found[1]} ${found[2]}`;
}

/**
 * What changed about an event since its line was written: its player was merged, its amounts were restated, its bet was placed.
 */
export type EventChange = Partial<Pick<PlayerEvent, 'player_id' | 'item' | 'item_group' | keyof EventMoney>>;

/**
 * The line of {@link encodePlayerEvent} with changed fields. Its revision is 1, so that in ClickHouse it replaces the
 * original line, which has none.
 */
export function changeLine(line: string, change: EventChange): string {
  // Amounts that a double cannot hold keep their digits: they are `ExactNumber`s here.
  const row = parseExact(line) as PlayerEvent;
  return `${encodePlayerEvent({ ...row, ...change }).slice(0, -1)},"revision":1}`;
}

/** The line of {@link encodePlayerEvent} of a player who was erased: with the properties about money alone, and no item. */
export function reduceLine(line: string): string {
  const { event, properties } = parseExact(line) as PlayerEvent;
  const at = line.indexOf(BEFORE_PROPERTIES);
  const revision = /,"revision":\d+\}$/.exec(line)?.[0] ?? '}';
  // Inside a JSON string a quote is escaped, so no text can contain this one.
  const head = line.slice(0, at).split(BEFORE_ITEM, 1)[0] ?? '';
  return head + BEFORE_PROPERTIES + storedJson(moneyOnly(event, properties)) + revision;
}

function parseText(json: string): string | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * When intake received the event of a record of either topic, in milliseconds; undefined for a record of another
 * form. The service writes its own fields before the fields of the caller, so the first match is the service's.
 */
export function receivedAtOf(value: string): number | undefined {
  const found = /"received_at(?:_ms)?":(\d{1,15})\b/.exec(value)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** The key of a player's records on `player-events`. */
export function playerKey(project_id: string, player_id: string): string {
  return `${project_id}:${player_id}`;
}

/** The record of an event on `player-events`. */
export function playerEventRecord(event: PlayerEvent): { key: string; value: string } {
  return { key: playerKey(event.project_id, event.player_id), value: encodePlayerEvent(event) };
}

/** Why the fold rejected an event. */
export const DEAD_LETTER_REASONS = [
  'MALFORMED_RECORD',
  'UNKNOWN_PLAYER',
  'CONFLICTING_DUPLICATE',
  'DUPLICATE_DIFFERS',
  'AMOUNT_OUT_OF_RANGE',
  'POISON_RECORD',
] as const;
export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number];

/** A letter of these reasons says that the event came before. Its replay writes no other one. */
export const REASONS_OF_DUPLICATES: ReadonlySet<DeadLetterReason> = new Set([
  'CONFLICTING_DUPLICATE',
  'DUPLICATE_DIFFERS',
]);

/**
 * The record by which a dead letter is replayed: the rejected one, of the letters about duplicates with their reason. Its
 * sender's name is left out: the rejected record has claimed it.
 */
export function replayOf({ key, value: rejected, reason }: DeadLetter): { key: string; value: string } {
  const value = rejected.replace(/,"named":"(?:short|long)"\}$/, '}');
  if (!REASONS_OF_DUPLICATES.has(reason)) return { key, value };
  // The fold has read the record, so it is a JSON object with fields.
  const end = value.lastIndexOf('}');
  return { key, value: `${value.slice(0, end)},"replay_of":"${reason}"}` };
}

/** A record that the fold appends to the topic `dead-letters`. */
export interface DeadLetter {
  reason: DeadLetterReason;
  message: string;
  /** The position of the rejected record on `events`. */
  partition: number;
  offset: string;
  key: string;
  /** The rejected record's value, unchanged; only its beginning when the letter has `value_bytes`. */
  value: string;
  /** The size of the whole value in bytes, of a record that is too large for a letter. */
  value_bytes?: number;
  at_ms: number;
}
