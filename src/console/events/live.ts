import type { AcceptedEvent } from '../../ingest/events/envelope.ts';
import { ApiError } from '../../errors.ts';
import type { EventStream, StreamOut } from '../../http/event-stream.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { maskPersonal } from './masking.ts';
import type { EventTail, TailEvent, Viewer } from './tail.ts';

const MAX_STREAMS_OF_TENANT = 20;
const MAX_EVENTS_PER_S = 50;
const SECOND_MS = 1_000;
const HEARTBEAT_MS = 15_000;
/** Longer properties are left out: a viewer takes 50 events a second. */
const MAX_PROPERTIES_CHARS = 8_192;
const RETRY_AFTER_S = 30;

/** Which events a viewer wants, and for how long. */
export interface LiveOptions extends ProjectRef {
  event: string | undefined;
  /** The ids by which events name the wanted player: its own, those it had before, its anonymous ids. */
  player_ids: ReadonlySet<string> | undefined;
  last_id: string | undefined;
  max_s: number;
  /** Rejects when the caller may not see the events any more. */
  recheck: () => Promise<void>;
}

/** The streams of live events that this process has open. */
export class LiveStreams {
  readonly #tail: EventTail;
  /** tenant_id → its open streams. */
  readonly #open = new Map<string, number>();

  constructor(tail: EventTail) {
    this.#tail = tail;
  }

  /** Throws RATE_LIMITED when the tenant has {@link MAX_STREAMS_OF_TENANT} streams open in this process. */
  stream(options: LiveOptions): EventStream {
    const { tenant_id } = options;
    const before = this.#open.get(tenant_id) ?? 0;
    if (before >= MAX_STREAMS_OF_TENANT) {
      throw new ApiError('RATE_LIMITED', `the tenant has ${before} streams open; close one first`, {
        retry_after_s: RETRY_AFTER_S,
      });
    }
    return (out) => {
      this.#open.set(tenant_id, (this.#open.get(tenant_id) ?? 0) + 1);
      const stop = this.#run(options, out);
      return () => {
        stop();
        const rest = (this.#open.get(tenant_id) ?? 1) - 1;
        if (rest === 0) this.#open.delete(tenant_id);
        else this.#open.set(tenant_id, rest);
      };
    };
  }

  #run(options: LiveOptions, out: StreamOut): () => void {
    const pace = new Pace(options, out);
    const second = setInterval(() => pace.nextSecond(), SECOND_MS);
    const heart = setInterval(() => {
      out.beat();
      options.recheck().catch(() => out.end());
    }, HEARTBEAT_MS);
    const over = setTimeout(() => out.end(), options.max_s * SECOND_MS);
    const unwatch = this.#tail.watch(pace, options.last_id);
    return () => {
      unwatch();
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
  #left = MAX_EVENTS_PER_S;
  #skipped = 0;
  #has_gap = false;

  constructor(options: LiveOptions, out: StreamOut) {
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
    if (this.#left === 0 && !has_filter) return void this.#skipped++;
    const accepted = JSON.parse(line) as AcceptedEvent;
    const { player_id, anonymous_id } = accepted.event;
    if (event !== undefined && accepted.event.event !== event) return;
    if (player_ids?.has(player_id?.toLowerCase() ?? anonymous_id ?? '') === false) return;
    if (this.#left > 0 && this.#out.send({ id, data: liveJson(accepted) })) this.#left--;
    else this.#skipped++;
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
  const properties = maskPersonal(JSON.stringify(event.properties ?? {}));
  const is_long = properties.length > MAX_PROPERTIES_CHARS;
  const head = JSON.stringify({
    ingestion_id,
    index,
    event: event.event,
    player_id: event.player_id?.toLowerCase() ?? null,
    anonymous_id: event.anonymous_id ?? null,
    timestamp: event.timestamp ?? null,
    received_at: new Date(received_at_ms).toISOString(),
    environment,
    is_shortened: is_long,
  });
  return `${head.slice(0, -1)},"properties":${is_long ? '{}' : properties}}`;
}
