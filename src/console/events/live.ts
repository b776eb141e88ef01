import type { AccessChanges } from '../../http/auth/session.ts';
import type { AcceptedEvent } from '../../ingest/events/envelope.ts';
import { ApiError } from '../../errors.ts';
import type { EventStream, StreamOut } from '../../http/event-stream.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { maskPersonal } from '../../players/masking.ts';
import type { EventTail, TailEvent, Viewer } from './tail.ts';
import { exactJson, JsonText, parseExact } from '../../platform/exact-json.ts';

const MAX_STREAMS_OF_TENANT = 20;
/** So that one user with many tabs leaves room for the others of the tenant. */
const MAX_STREAMS_OF_USER = 5;
const MAX_EVENTS_PER_S = 50;
const SECOND_MS = 1_000;
const HEARTBEAT_MS = 15_000;
/** Longer properties are not shown: a viewer takes 50 events a second. */
const MAX_PROPERTIES_CHARS = 8_192;
const RETRY_AFTER_S = 30;

/** Which events a viewer wants, and for how long. */
export interface LiveOptions extends ProjectRef {
  user_id: string;
  event: string | undefined;
  /** The ids by which events name the wanted player: its own, those it had before, its anonymous ids. */
  player_ids: ReadonlySet<string> | undefined;
  last_id: string | undefined;
  max_s: number;
  /** Rejects when the caller may not see the events any more. */
  recheck: () => Promise<void>;
}

type StreamMetrics = Pick<Metrics, 'eventStreamViewers' | 'eventStreamSkipped'>;

/** The streams of live events that this process has open. */
export class LiveStreams {
  readonly #tail: EventTail;
  readonly #access_changes: AccessChanges;
  readonly #metrics: StreamMetrics;
  readonly #open = new Set<LiveOptions>();

  constructor(tail: EventTail, access_changes: AccessChanges, metrics: StreamMetrics) {
    this.#tail = tail;
    this.#metrics = metrics;
    this.#access_changes = access_changes;
  }

  /**
   * Throws RATE_LIMITED when the tenant has {@link MAX_STREAMS_OF_TENANT} streams open in this process, or the user
   * {@link MAX_STREAMS_OF_USER} of them.
   */
  stream(options: LiveOptions): EventStream {
    this.#requireRoom(options);
    return (out) => {
      try {
        // Others may have opened theirs since.
        this.#requireRoom(options);
      } catch {
        out.end();
        return () => {};
      }
      this.#open.add(options);
      this.#metrics.eventStreamViewers.set(this.#open.size);
      const stop = this.#run(options, out);
      return () => {
        stop();
        this.#open.delete(options);
        this.#metrics.eventStreamViewers.set(this.#open.size);
      };
    };
  }

  #requireRoom({ tenant_id, user_id }: LiveOptions): void {
    const of_tenant = [...this.#open].filter((one) => one.tenant_id === tenant_id);
    const of_user = of_tenant.filter((one) => one.user_id === user_id);
    const whose =
      of_user.length >= MAX_STREAMS_OF_USER
        ? `you have ${of_user.length} streams`
        : of_tenant.length >= MAX_STREAMS_OF_TENANT
          ? `the tenant has ${of_tenant.length} streams`
          : undefined;
    if (whose === undefined) return;
    throw new ApiError('RATE_LIMITED', `${whose} open; close one first`, { retry_after_s: RETRY_AFTER_S });
  }

  #run(options: LiveOptions, out: StreamOut): () => void {
    const pace = new Pace(options, out, () => this.#metrics.eventStreamSkipped.inc());
    const second = setInterval(() => pace.nextSecond(), SECOND_MS);
    const recheck = () => void options.recheck().catch(() => out.end());
    const heart = setInterval(() => {
      out.beat();
      recheck();
    }, HEARTBEAT_MS);
    const unwatchAccess = this.#access_changes.watch((user_id) => {
      if (user_id === undefined || user_id === options.user_id) recheck();
    });
    const over = setTimeout(() => out.end(), options.max_s * SECOND_MS);
    const unwatch = this.#tail.watch(pace, options.last_id);
    return () => {
      unwatch();
      unwatchAccess();
      clearInterval(second);
      clearInterval(heart);
      clearTimeout(over);
    };
  }
}

/** Writes at most {@link MAX_EVENTS_PER_S} events a second to one viewer, and counts the others. */
class Pace implements Viewer {
  readonly tenant_id: string;
  readonly project_id: string;
  readonly #options: LiveOptions;
  readonly #out: StreamOut;
  readonly #onSkip: () => void;
  #left = MAX_EVENTS_PER_S;
  #skipped = 0;
  #has_gap = false;

  constructor(options: LiveOptions, out: StreamOut, onSkip: () => void) {
    this.#onSkip = onSkip;
    this.tenant_id = options.tenant_id;
    this.project_id = options.project_id;
    this.#options = options;
    this.#out = out;
  }

  ready(id: string): void {
    this.#out.send({ event: 'ready', id, data: '{}' });
  }

  events(found: readonly TailEvent[]): void {
    for (const one of found) this.#take(one);
  }

  gap(): void {
    this.#has_gap = true;
    this.#tellSkipped();
  }

  nextSecond(): void {
    this.#left = MAX_EVENTS_PER_S;
    this.#tellSkipped();
  }

  #take({ id, line }: TailEvent): void {
    const { event, player_ids } = this.#options;
    const has_filter = event !== undefined || player_ids !== undefined;
    if (this.#left === 0 && !has_filter) return this.#skip();
    const accepted = parseExact(line) as AcceptedEvent;
    const { player_id, anonymous_id } = accepted.event;
    if (event !== undefined && accepted.event.event !== event) return;
    if (player_ids?.has(player_id?.toLowerCase() ?? anonymous_id ?? '') === false) return;
    if (this.#left > 0 && this.#out.send({ id, data: liveJson(accepted) })) this.#left--;
    else this.#skip();
  }

  #skip(): void {
    this.#skipped++;
    this.#onSkip();
  }

  /** With `count` null nobody knows how many. */
  #tellSkipped(): void {
    if (this.#skipped === 0 && !this.#has_gap) return;
    const data = JSON.stringify({ count: this.#has_gap ? null : this.#skipped });
    if (!this.#out.send({ event: 'skipped', data })) return;
    this.#skipped = 0;
    this.#has_gap = false;
  }
}

function liveJson({ ingestion_id, index, received_at_ms, environment, event }: AcceptedEvent): string {
  const properties = exactJson(event.properties ?? {});
  const is_long = properties.length > MAX_PROPERTIES_CHARS;
  return exactJson({
    ingestion_id,
    index,
    event: event.event,
    player_id: event.player_id?.toLowerCase() ?? null,
    anonymous_id: event.anonymous_id ?? null,
    timestamp: event.timestamp ?? null,
    received_at: new Date(received_at_ms).toISOString(),
    environment,
    is_shortened: is_long,
    properties: new JsonText(is_long ? '{}' : maskPersonal(properties)),
  });
}
