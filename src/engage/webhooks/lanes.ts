import type { Lane } from './claim-queries.ts';

/** Attempts at the same time: in all, of one lane, and to one host or of one tenant (a quarter of all). */
const MAX_IN_FLIGHT = 256;
const MAX_PER_LANE = 16;
const MAX_SHARE = MAX_IN_FLIGHT / 4;
/** After so many failures in a row a lane rests; then one attempt shows whether its host answers again. */
const FAILURES = 10;
export const REST_MS = 30_000;
/** Lanes with failures that are remembered. */
const MAX_KNOWN = 10_000;

/** What an attempt says about its host: `silent`: no answer or none that is usable; `unknown`: nothing. */
export type HostVerdict = 'answered' | 'silent' | 'unknown';

interface State {
  in_flight: number;
  failures: number;
  rests_until_ms: number;
}

/**
 * Who may be called now. A lane whose host does not answer holds a few places for a short time, then none, so that it
 * never keeps others from being called.
 */
export class Lanes {
  readonly #states = new Map<string, State>();
  readonly #of_hosts = new Map<string, number>();
  readonly #of_tenants = new Map<string, number>();
  #in_flight = 0;
  /** With which lane the next distribution begins, so that the first ones have no advantage. */
  #first = 0;

  /** Places for these lanes, one after the other in turn, until there are no more. */
  grant<L extends Lane>(lanes: readonly L[], now_ms: number): (L & { places: number })[] {
    const hosts = new Map(this.#of_hosts);
    const tenants = new Map(this.#of_tenants);
    let free = MAX_IN_FLIGHT - this.#in_flight;
    const from = lanes.length === 0 ? 0 : this.#first++ % lanes.length;
    const granted = [...lanes.slice(from), ...lanes.slice(0, from)].map((lane) => ({
      lane,
      places: 0,
      most: this.#freeOf(lane, now_ms),
    }));
    for (let has_given = true; has_given && free > 0;) {
      has_given = false;
      for (const one of granted) {
        const { host, tenant_id } = one.lane;
        const [of_host, of_tenant] = [hosts.get(host) ?? 0, tenants.get(tenant_id) ?? 0];
        if (free === 0 || one.places >= one.most || of_host >= MAX_SHARE || of_tenant >= MAX_SHARE) continue;
        one.places++;
        free--;
        hosts.set(host, of_host + 1);
        tenants.set(tenant_id, of_tenant + 1);
        has_given = true;
      }
    }
    return granted.filter(({ places }) => places > 0).map(({ lane, places }) => ({ ...lane, places }));
  }

  /** An attempt begins. */
  begin(lane: Lane): void {
    const state = this.#states.get(keyOf(lane)) ?? { in_flight: 0, failures: 0, rests_until_ms: 0 };
    state.in_flight++;
    this.#states.set(keyOf(lane), state);
    this.#count(lane, 1);
  }

  /** An attempt has ended. */
  end(lane: Lane, verdict: HostVerdict, now_ms: number): void {
    const key = keyOf(lane);
    const state = this.#states.get(key);
    if (state === undefined) return;
    state.in_flight--;
    this.#count(lane, -1);
    if (verdict === 'answered') state.failures = 0;
    if (verdict === 'silent' && ++state.failures >= FAILURES) state.rests_until_ms = now_ms + REST_MS;
    if (state.in_flight === 0 && state.failures === 0) this.#states.delete(key);
    else if (this.#states.size > MAX_KNOWN) this.#forgetOne();
  }

  /** Until when the lane rests; undefined: it does not. */
  restsUntil(lane: Lane, now_ms: number): number | undefined {
    const state = this.#states.get(keyOf(lane));
    return state !== undefined && state.rests_until_ms > now_ms ? state.rests_until_ms : undefined;
  }

  #freeOf(lane: Lane, now_ms: number): number {
    const state = this.#states.get(keyOf(lane));
    if (state === undefined) return MAX_PER_LANE;
    if (state.failures < FAILURES) return MAX_PER_LANE - state.in_flight;
    return state.rests_until_ms > now_ms || state.in_flight > 0 ? 0 : 1;
  }

  #count({ host, tenant_id }: Lane, change: 1 | -1): void {
    this.#in_flight += change;
    for (const [counts, key] of [
      [this.#of_hosts, host],
      [this.#of_tenants, tenant_id],
    ] as const) {
      const count = (counts.get(key) ?? 0) + change;
      if (count === 0) counts.delete(key);
      else counts.set(key, count);
    }
  }

  #forgetOne(): void {
    for (const [key, { in_flight }] of this.#states) {
      if (in_flight === 0) {
        this.#states.delete(key);
        return;
      }
    }
  }
}

function keyOf({ tenant_id, host }: Lane): string {
  return `${tenant_id} ${host}`;
}
