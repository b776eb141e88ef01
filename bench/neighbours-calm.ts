import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../src/platform/postgres/port.ts';
import type { Result } from './measure.ts';
import type { Answer, NeighbourClient } from './neighbours-client.ts';
import { Figure, type LockWindows } from './neighbours-figures.ts';
import { selectHandOvers } from './neighbours-queries.ts';

const EVENTS_PER_SECOND = 50;
const READS_PER_SECOND = 20;
const PROBES_PER_SECOND = 2;
/** Each fires one of the campaigns, in turn. */
const MESSAGES_PER_SECOND = 1;
/** One probe is looked at each time, so an event counts as visible up to this late. */
const LOOK_EVERY_MS = 25;
const PROBE_PLAYERS = 100;
const DEPOSIT = 100;
/** What is not there so long after the end counts with this time. */
const DRAIN_MS = 30_000;
const AT_ONCE = 16;

/** Campaigns of the tenant: one is decided by Postgres alone, the other one asks ClickHouse about its segment. */
interface Campaigns {
  plain: string;
  segmented: string;
}

/** A well-behaved tenant with a modest load, whose figures count. */
export class CalmTenant {
  readonly #client: NeighbourClient;
  readonly #sql: Db;
  readonly #players: string[] = [];
  readonly #segments: string[] = [];
  readonly #reads: Figure;
  readonly #visible: Figure;
  readonly #events: Figure;
  readonly #windows: LockWindows;
  /** When the event of a player was accepted, by campaign. */
  readonly #fired = { plain: new Map<string, Moment>(), segmented: new Map<string, Moment>() };
  #campaigns: Campaigns = { plain: '', segmented: '' };

  constructor(client: NeighbourClient, sql: Db, windows: LockWindows) {
    this.#client = client;
    this.#sql = sql;
    this.#windows = windows;
    [this.#reads, this.#visible, this.#events] = [
      new Figure(windows),
      new Figure(windows),
      new Figure(windows),
    ];
  }

  /** Makes the players, segments and campaigns that a run of so many seconds needs. */
  async prepare(seconds: number): Promise<void> {
    const count = PROBE_PLAYERS + Math.ceil(seconds * MESSAGES_PER_SECOND) + AT_ONCE;
    for (let from = 0; from < count; from += AT_ONCE) {
      const numbers = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, i) => from + i);
      this.#players.push(...(await Promise.all(numbers.map((number) => this.#person(number)))));
    }
    for (const event of ['login', 'deposit_confirmed', 'bet_placed']) {
      const condition = { type: 'event', event, aggregate: 'count', op: 'gte', value: 1 };
      const definition = { operator: 'AND', conditions: [condition] };
      const body = { name: event, definition, refresh_strategy: 'realtime' };
      this.#segments.push(await this.#client.create('/v1/segments', body));
    }
    this.#campaigns = {
      plain: await this.#campaign('custom_plain', null),
      segmented: await this.#campaign('custom_segmented', await this.#everybody()),
    };
  }

  /** Keeps the load up until `stop`, then waits for what is still on its way. */
  async run(stop: AbortSignal): Promise<void> {
    await Promise.all([
      regularly(EVENTS_PER_SECOND, stop, (i) => this.#play(i)),
      regularly(READS_PER_SECOND, stop, (i) => this.#read(i)),
      regularly(MESSAGES_PER_SECOND, stop, (i) => this.#fire(i)),
      this.#probe(stop),
    ]);
  }

  async results(): Promise<Result[]> {
    return [
      this.#events.result('event sent → accepted', 500),
      this.#reads.result('reads of players and segments', 100),
      ...this.#reads.lockedResults('reads of players and segments', 1_500),
      this.#visible.result('event accepted → totals of GET player', 500),
      await this.#messages('plain', 'event accepted → message handed over'),
      await this.#messages('segmented', 'event accepted → message handed over, with a segment'),
    ];
  }

  async #person(number: number): Promise<string> {
    const traits = { email: `calm-${number}@example.com` };
    const { status, body } = await this.#client.identify({ external_id: `calm-${number}`, traits });
    if (status !== 200) throw new Error(`identify: ${status} ${body.error?.message}`);
    return String(body.data?.['player_id']);
  }

  #everybody(): Promise<string> {
    const definition = {
      operator: 'AND',
      conditions: [{ type: 'event', event: 'custom_segmented', aggregate: 'count', op: 'gte', value: 1 }],
    };
    return this.#client.create('/v1/segments', {
      name: 'fired',
      definition,
      refresh_strategy: 'realtime',
    });
  }

  async #campaign(trigger_event: string, segment_id: string | null): Promise<string> {
    const provider = { name: trigger_event, kind: 'sandbox', channel: 'email', config: {} };
    const template = {
      name: trigger_event,
      channel: 'email',
      status: 'active',
      subject: 'Hello',
      body: '<p>Hello</p>',
    };
    const provider_id = await this.#client.create('/v1/messaging-providers', provider);
    const template_id = await this.#client.create('/v1/templates', template);
    const plan = { name: trigger_event, type: 'triggered', channel: 'email', trigger_event };
    const campaign = { ...plan, segment_id, template_id, provider_id };
    const campaign_id = await this.#client.create('/v1/campaigns', campaign);
    await this.#client.must('POST', `/v1/campaigns/${campaign_id}/send`, 200);
    return campaign_id;
  }

  async #play(i: number): Promise<void> {
    const player_id = this.#players[PROBE_PLAYERS + (i % (this.#players.length - PROBE_PLAYERS))];
    const bet = {
      amount: 100,
      currency: 'EUR',
      bet_id: `calm-${i}`,
      game_id: 'game',
      game_category: 'slots',
    };
    const event =
      i % 10 === 0
        ? { event: 'login', player_id, properties: {} }
        : { event: 'bet_placed', player_id, properties: bet };
    await this.#post(event);
  }

  /** Sends an event; returns when it was accepted, or undefined when it was refused. */
  async #post(event: Record<string, unknown>): Promise<Moment | undefined> {
    const from_ms = performance.now();
    const answer = await this.#client.event(event);
    const to_ms = performance.now();
    if (answer.status !== 202) {
      this.#events.refused(codeOf(answer), from_ms, to_ms);
      return undefined;
    }
    this.#events.took(from_ms, to_ms);
    return { monotonic_ms: to_ms, wall_ms: Date.now() };
  }

  async #read(i: number): Promise<void> {
    const player = this.#players[(i * 7) % this.#players.length];
    const segment = this.#segments[i % this.#segments.length];
    const paths = [
      `/v1/players/${player}`,
      '/v1/segments',
      `/v1/players/${player}`,
      `/v1/segments/${segment}`,
      '/v1/players?limit=50',
    ];
    const from_ms = performance.now();
    const answer = await this.#client.api('GET', paths[i % paths.length] ?? '');
    const to_ms = performance.now();
    this.#reads.took(from_ms, to_ms);
    if (answer.status !== 200) this.#reads.refused(codeOf(answer), from_ms, to_ms);
  }

  async #fire(i: number): Promise<void> {
    const which = i % 2 === 0 ? 'plain' : 'segmented';
    const player_id = this.#players[PROBE_PLAYERS + i] ?? '';
    const accepted = await this.#post({ event: `custom_${which}`, player_id, properties: {} });
    if (accepted !== undefined) this.#fired[which].set(player_id, accepted);
  }

  /** Sends deposits and looks, at one player after the other, until the totals include them. */
  async #probe(stop: AbortSignal): Promise<void> {
    const waiting = new Map<string, { total: number; accepted_ms: number }>();
    const totals = new Map<string, number>();
    const looking = new Set<string>();
    let last_ms = Infinity;
    const sending = regularly(PROBES_PER_SECOND, stop, async (i) => {
      const player_id = this.#players[i % PROBE_PLAYERS] ?? '';
      // Two at once of one player could not be told apart.
      if (waiting.has(player_id)) return;
      const deposit = {
        amount: DEPOSIT,
        currency: 'EUR',
        transaction_id: `calm-${i}`,
        payment_method: 'card',
      };
      const accepted = await this.#post({ event: 'deposit_confirmed', player_id, properties: deposit });
      if (accepted === undefined) return;
      const total = (totals.get(player_id) ?? 0) + DEPOSIT;
      totals.set(player_id, total);
      waiting.set(player_id, { total, accepted_ms: accepted.monotonic_ms });
    }).finally(() => (last_ms = performance.now() + DRAIN_MS));
    while (!stop.aborted || (waiting.size > 0 && performance.now() < last_ms)) {
      for (const [player_id, { total, accepted_ms }] of waiting) {
        // Not awaited: a slow answer about one player must not delay the look at another.
        if (!looking.has(player_id)) {
          looking.add(player_id);
          void this.#look(player_id, total)
            .then((is_there) => {
              if (!is_there) return;
              waiting.delete(player_id);
              this.#visible.took(accepted_ms, performance.now());
            })
            .catch(() => undefined)
            .finally(() => looking.delete(player_id));
        }
        await sleep(LOOK_EVERY_MS);
      }
      await sleep(LOOK_EVERY_MS);
    }
    await sending;
    for (const { accepted_ms } of waiting.values()) this.#visible.took(accepted_ms, performance.now());
  }

  /** Whether the deposits of the player are in its totals, as the API shows them. */
  async #look(player_id: string, total: number): Promise<boolean> {
    const { body } = await this.#client.api('GET', `/v1/players/${player_id}`);
    return Number(body.data?.['total_deposited'] ?? 0) >= total;
  }

  async #messages(which: 'plain' | 'segmented', what: string): Promise<Result> {
    const fired = this.#fired[which];
    const sent = new Map<string, Date>();
    for (const until_ms = performance.now() + DRAIN_MS; performance.now() < until_ms; await sleep(500)) {
      for (const { player_id, sent_at } of await selectHandOvers(this.#sql, this.#campaigns[which])) {
        if (sent_at !== null) sent.set(player_id, sent_at);
      }
      if ([...fired.keys()].every((player_id) => sent.has(player_id))) break;
    }
    const figure = new Figure(this.#windows);
    for (const [player_id, { monotonic_ms, wall_ms }] of fired) {
      const sent_at = sent.get(player_id);
      if (sent_at === undefined) figure.refused('never handed over', monotonic_ms, performance.now());
      // Both processes use the clock of this machine; the answer may arrive after the message was handed over.
      const took_ms = Math.max(0, (sent_at?.getTime() ?? Date.now()) - wall_ms);
      figure.took(monotonic_ms, monotonic_ms + took_ms);
    }
    return figure.result(what, 2_000);
  }
}

interface Moment {
  monotonic_ms: number;
  wall_ms: number;
}

export function codeOf({ status, body }: Answer): string {
  return `${status} ${body.error?.code ?? ''}`.trim();
}

/** Begins `work` so many times a second, however long it takes, until `stop`; then waits for what still runs. */
export async function regularly(
  per_second: number,
  stop: AbortSignal,
  work: (i: number) => Promise<void>,
): Promise<void> {
  const started_ms = performance.now();
  const running = new Set<Promise<void>>();
  for (let i = 0; !stop.aborted; i++) {
    const one = work(i).finally(() => running.delete(one));
    running.add(one);
    const due_ms = started_ms + ((i + 1) / per_second) * 1_000;
    await sleep(Math.max(0, due_ms - performance.now()), undefined, { signal: stop }).catch(() => undefined);
  }
  await Promise.all(running);
}
