import { expect } from 'vitest';
import { rewriteOnce } from '../../../processors/event-rewriter/index.ts';
import type { DeadLetter } from '../../../src/ingest/events/envelope.ts';
import type { ReconcileReport } from '../../../src/reconcile/schema.ts';
import { call, internally, sendBatch, type Answer } from '../../engines/http-client.ts';
import { folded, type TestService, type TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';

/** The answer of identify. */
export interface Identified {
  player_id: string;
  created: boolean;
  merged_player_ids: string[];
  conflict: boolean;
}

/** An event as an operator sends it. */
export interface Sent {
  event: string;
  anonymous_id?: string;
  player_id?: string;
  timestamp?: string;
  properties?: Record<string, unknown>;
}

/** The player that an event names. */
export type Who = { anonymous_id: string } | { player_id: string };

export type Fields = Record<string, unknown>;

/** Two devices of one person, and the person's external_id. */
export const phone = { anonymous_id: 'phone' };
export const laptop = { anonymous_id: 'laptop' };
export const ann = { external_id: 'ann' };

/** The totals of a player by their API names, in the order of {@link Operator.totals}. */
const TOTALS = [
  'total_deposited',
  'total_withdrawn',
  'total_wagered',
  'total_won',
  'ggr',
  'bet_count',
  'session_count',
  'pending_conversions',
] as const;

export const session = (who: Who): Sent => ({ event: 'session_start', ...who });

export function deposit(who: Who, transaction_id: string, amount: number, currency = 'EUR'): Sent {
  const properties = { amount, currency, transaction_id, payment_method: 'card' };
  return { event: 'deposit_confirmed', ...who, properties };
}

export function withdrawal(who: Who, transaction_id: string, amount: number): Sent {
  return { event: 'withdrawal_confirmed', ...who, properties: { amount, currency: 'EUR', transaction_id } };
}

const GAME = { game_id: 'book', game_category: 'slots' };
const MATCH = { sport: 'football', bet_type: 'single', odds: '2.10', event_ref: 'final' };

/** A casino bet's stake. */
export function placed(who: Who, bet_id: string, amount: number): Sent {
  return { event: 'bet_placed', ...who, properties: { amount, currency: 'EUR', bet_id, ...GAME } };
}

export function settled(who: Who, bet_id: string, amount: number, payout: number): Sent {
  const outcome = payout > 0 ? 'won' : 'lost';
  const properties = { amount, payout, currency: 'EUR', bet_id, outcome, ...GAME };
  return { event: 'bet_settled', ...who, properties };
}

export function sportPlaced(who: Who, bet_id: string, amount: number): Sent {
  return { event: 'sport_bet_placed', ...who, properties: { amount, currency: 'EUR', bet_id, ...MATCH } };
}

export function sportSettled(who: Who, bet_id: string, payout: number): Sent {
  return { event: 'sport_bet_settled', ...who, properties: { payout, currency: 'EUR', bet_id } };
}

export function cashedOut(who: Who, bet_id: string, payout: number): Sent {
  return { event: 'sport_cashout', ...who, properties: { payout, currency: 'EUR', bet_id } };
}

export function voided(who: Who, bet_id: string): Sent {
  return { event: 'sport_bet_voided', ...who, properties: { bet_id } };
}

/** The systems of a gambling operator, as clients of the service: every call goes over HTTP. */
export class Operator {
  readonly service: TestService;
  readonly tenant: TestTenant;

  constructor(service: TestService, tenant: TestTenant) {
    this.service = service;
    this.tenant = tenant;
  }

  /** An operator with a new, empty tenant. */
  static async open(service: TestService): Promise<Operator> {
    return new Operator(service, await service.newTenant());
  }

  /** Identifies; expects status 200. */
  async identify(body: object): Promise<Identified> {
    const { status, data, error } = await this.tryToIdentify(body);
    expect(status, JSON.stringify(error)).toBe(200);
    return data;
  }

  async tryToIdentify(body: object): Promise<Answer<Identified>> {
    return call(`${this.service.base_url}/v1/players/identify`, this.tenant.api_key, { body });
  }

  /** Sends events in one batch and expects all to be accepted; returns their ingestion_id. */
  async send(...events: Sent[]): Promise<string> {
    const { data } = await sendBatch(this.service, this.tenant, events);
    expect(data).toMatchObject({ accepted: events.length, rejected: [] });
    return String(data['ingestion_id']);
  }

  /** Sends events and waits until they are folded. */
  async fold(...events: Sent[]): Promise<void> {
    await this.send(...events);
    await folded(this.service.platform);
  }

  /** Calls the admin API. */
  async admin<T = Fields>(path: string, method = 'GET', body?: object): Promise<Answer<T>> {
    const { session_token, project_id } = this.tenant;
    const headers = { 'x-project-id': project_id };
    return call(`${this.service.base_url}/v1/players${path}`, session_token, { method, body, headers });
  }

  /** The player with this id, or its survivor. */
  async player(player_id: string): Promise<Fields> {
    const { status, data } = await this.admin(`/${player_id}`);
    expect(status).toBe(200);
    return data;
  }

  /** Every player in the list, ordered by id. */
  async list(query = ''): Promise<Fields[]> {
    const { data } = await this.admin<Fields[]>(`?limit=200${query}`);
    return data.toSorted((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1));
  }

  async totals(player_id: string): Promise<unknown[]> {
    const player = await this.player(player_id);
    return TOTALS.map((total) => player[total]);
  }

  /** The totals summed over all listed players. */
  async sums(): Promise<number[]> {
    const players = await this.list();
    return TOTALS.map((total) => players.reduce((sum, player) => sum + Number(player[total]), 0));
  }

  /** Merges the laptop's player into the phone's, which gets the external_id of Ann; returns its id. */
  async signUp(): Promise<string> {
    const { player_id } = await this.identify({ ...phone, ...ann });
    await this.identify({ ...laptop, ...ann });
    return player_id;
  }

  /** Names of the player's events, the newest first. */
  async timeline(player_id: string): Promise<string[]> {
    const { data } = await this.admin<Fields[]>(`/${player_id}/timeline?limit=200`);
    return data.map(({ event }) => String(event));
  }

  /** Sum of the deposits of the last 30 days, because an event of an hour ago may belong to yesterday. */
  async depositedLately(player_id: string): Promise<number> {
    const { data } = await this.admin<{ amount: number }[]>(`/${player_id}/deposits-daily`);
    expect(data).toHaveLength(30);
    return data.reduce((sum, { amount }) => sum + amount, 0);
  }

  async patch(player_id: string, body: object): Promise<Fields> {
    const { status, data, error } = await this.admin(`/${player_id}`, 'PATCH', body);
    expect(status, JSON.stringify(error)).toBe(200);
    return data;
  }

  async remove(player_id: string): Promise<Fields> {
    const { status, data } = await this.admin(`/${player_id}`, 'DELETE');
    expect(status).toBe(200);
    return data;
  }

  /** Differences that `reconcile` finds between ledger, totals, events and mirror. */
  async differences(): Promise<ReconcileReport['listed']> {
    return this.#reconcile({ tenant_id: this.tenant.tenant_id });
  }

  /** The same for all operators. */
  async differencesOfAll(): Promise<ReconcileReport['listed']> {
    return this.#reconcile({});
  }

  async #reconcile(body: object): Promise<ReconcileReport['listed']> {
    const { data } = await internally<ReconcileReport>(this.service, 'reconcile', body);
    expect(data.differences).toBe(data.listed.length);
    return data.listed;
  }

  /** Reason and event name of the operator's dead letters, in order; waits until accepted events are folded. */
  async deadLetters(): Promise<string[]> {
    const { eventLog } = this.service.platform;
    await folded(this.service.platform);
    const letters: string[] = [];
    for (const [partition, end] of await eventLog.endOffsets('dead-letters')) {
      for await (const { records } of eventLog.read('dead-letters', partition, 0n, end)) {
        for (const { value } of records) {
          const { reason, value: record } = JSON.parse(value) as DeadLetter;
          const { tenant_id, event } = JSON.parse(record) as { tenant_id: string; event: Sent };
          if (tenant_id === this.tenant.tenant_id) letters.push(`${reason} ${event.event}`);
        }
      }
    }
    return letters;
  }

  /** Rewrites this operator's merged players in ClickHouse to their survivors' ids. */
  async rewrite(): Promise<void> {
    await this.#rewrite([this.tenant.tenant_id]);
  }

  /** The same for all operators. */
  async rewriteAll(): Promise<void> {
    const tenants = await this.service.platform.postgres.service<{ tenant_id: string }[]>`
      select tenant_id from tenants`;
    await this.#rewrite(tenants.map(({ tenant_id }) => tenant_id));
  }

  async #rewrite(tenants: string[]): Promise<void> {
    const { platform } = this.service;
    await until('every merge is rewritten', async (saw) => {
      // The service's own rewriter may be running; then this call does nothing.
      await rewriteOnce(platform, 0);
      const [row] = saw(
        await platform.postgres.service<{ left: bigint }[]>`
        select count(*) as left from player_merges
        where rewritten_at is null and tenant_id::text in ${platform.postgres.service(tenants)}`,
      );
      return row?.left === 0n;
    });
  }
}
