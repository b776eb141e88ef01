import { expect } from 'vitest';
import { call } from '../engines/http-client.ts';
import { setKycModel, type TestService, type TestTenant } from '../engines/service.ts';
import type { ExpectedPlayer, Oracle, SentEvent } from './oracle.ts';
import type { Sender } from './streams.ts';

const BATCH = 97;
const COMPARED = [
  'total_deposited',
  'total_withdrawn',
  'total_wagered',
  'total_won',
  'total_bonus_wagered',
  'total_bonus_won',
  'total_credited',
  'total_debited',
  'ggr',
  'ngr',
  'bet_count',
  'session_count',
  'pending_conversions',
  'status',
  'kyc_status',
  'kyc_level',
] as const satisfies readonly (keyof ExpectedPlayer)[];

/**
 * The compared fields of players, by anonymous id. Integers are texts, because they may exceed what a JavaScript number
 * holds.
 */
export type ShownPlayers = Map<string, Record<string, unknown>>;

/** Performs a stream on a tenant over HTTP. */
export class FrontDoor {
  readonly #service: TestService;
  readonly #tenant: TestTenant;

  constructor(service: TestService, tenant: TestTenant) {
    this.#service = service;
    this.#tenant = tenant;
  }

  /** Performs on this tenant, whose events decide KYC. */
  static async open(service: TestService, tenant: TestTenant): Promise<FrontDoor> {
    await setKycModel(service, tenant);
    return new FrontDoor(service, tenant);
  }

  /** Identifies a sender, every second one with an external_id, and passes the answer to the oracle. */
  async identify(sender: Sender, oracle: Oracle, index: number): Promise<void> {
    const { anonymous_id } = sender;
    const body = { anonymous_id, ...(index % 2 === 0 ? { external_id: externalIdOf(index) } : {}) };
    const data = await this.#post(`${this.#service.base_url}/v1/players/identify`, body, 200);
    sender.player_id = String(data['player_id']);
    oracle.identified(anonymous_id, sender.player_id);
  }

  /**
   * Merges the players of two identified senders, of which exactly one has an external_id, and tells the oracle. All
   * events sent before must be folded: what follows from an event depends on the players of that time.
   */
  async merge([with_external, index]: [Sender, number], other: Sender, oracle: Oracle): Promise<void> {
    const body = { anonymous_id: other.anonymous_id, external_id: externalIdOf(index) };
    const data = await this.#post(`${this.#service.base_url}/v1/players/identify`, body, 200);
    expect(data['merged_player_ids']).toHaveLength(1);
    const survivor = data['player_id'];
    const [from, into] = survivor === other.player_id ? [with_external, other] : [other, with_external];
    expect(survivor).toBe(into.player_id);
    oracle.merged(from.anonymous_id, into.anonymous_id);
  }

  /** Sends the events in order, some alone and some in batches. */
  async send(events: readonly SentEvent[]): Promise<void> {
    for (let next = 0; next < events.length;) {
      const alone = next % 7 < 2;
      const part = events.slice(next, next + (alone ? 1 : BATCH));
      const url = `${this.#service.ingest_url}/v1/events${alone ? '' : '/batch'}`;
      const data = await this.#post(url, alone ? part[0] : { events: part }, 202);
      if (alone) expect(data['accepted']).toBe(true);
      else expect(data).toMatchObject({ accepted: part.length, rejected: [] });
      next += part.length;
    }
  }

  /** Sends the events over several connections at once; each sends its share in order. */
  async sendOver(connections: number, events: readonly SentEvent[]): Promise<void> {
    const share = Math.ceil(events.length / connections);
    await Promise.all(
      Array.from({ length: connections }, (_, i) => this.send(events.slice(i * share, (i + 1) * share))),
    );
  }

  /** Every player of the list endpoint. */
  async players(): Promise<ShownPlayers> {
    const players: ShownPlayers = new Map();
    for (let cursor: string | null = ''; cursor !== null;) {
      const url = `${this.#service.base_url}/v1/players?limit=200${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const { session_token } = this.#tenant;
      const { status, text } = await call(url, session_token);
      expect(status, text).toBe(200);
      const exact = text.replaceAll(/(?<="[a-z_]+":)-?\d+(?=[,}])/g, '"$&"');
      const page = JSON.parse(exact) as {
        data: (Record<string, unknown> & { anonymous_ids: string[] })[];
        meta: { next_cursor: string | null };
      };
      for (const player of page.data) {
        expect(player.anonymous_ids.length).toBeGreaterThan(0);
        const known = COMPARED.map((field) => [field, player[field]]);
        for (const name of player.anonymous_ids)
          players.set(name, Object.fromEntries(known) as Record<string, unknown>);
      }
      cursor = page.meta.next_cursor;
    }
    return players;
  }

  /** Posts with the tenant's API key; returns the answer's `data`. */
  async #post(url: string, body: unknown, status: number): Promise<Record<string, unknown>> {
    const answer = await call(url, this.#tenant.api_key, { body });
    expect(answer.status, answer.text).toBe(status);
    return answer.data;
  }
}

function externalIdOf(index: number): string {
  return `customer-${index}`;
}

/** Senders with hostile names that are not identified yet. */
export function newSenders(count: number): Sender[] {
  return Array.from({ length: count }, (_, i) => ({
    anonymous_id: `device "${i}" \\ {é,😀}`,
    player_id: undefined,
  }));
}

/** The list of players that the oracle expects. */
export function shown(oracle: Oracle): ShownPlayers {
  const players: ShownPlayers = new Map();
  for (const [name, expected] of oracle.players()) {
    if (!name.startsWith('device')) continue;
    const known = COMPARED.map((field) => [field, String(expected[field])]);
    players.set(name, Object.fromEntries(known) as Record<string, unknown>);
  }
  return players;
}

/** Fisher-Yates with a linear congruential generator: the seed of the property repeats it. */
export function shuffle<T>(values: readonly T[], seed: number): T[] {
  const shuffled = [...values];
  let state = seed >>> 0;
  for (let i = shuffled.length - 1; i > 0; i--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const j = state % (i + 1);
    [shuffled[i], shuffled[j]] = [shuffled[j] as T, shuffled[i] as T];
  }
  return shuffled;
}
