import type { BonusCampaignRef } from './queries.ts';

/** Campaigns at work at the same time: in all, and of one tenant. */
const MAX_AT_WORK = 8;
const MAX_OF_TENANT = 4;

/**
 * Who has the places in which campaigns are at work: tenants have their turns one after the other, and so have the
 * campaigns of each; a tenant with many slow campaigns leaves places to others.
 */
export class CampaignPlaces {
  /** By campaign_id. */
  readonly #taken = new Map<string, string>();
  #tenant = '';
  /** The campaign that had its turn last, of each tenant that was asked about last. */
  #served = new Map<string, string>();

  /** Campaigns that are in the order of their ids, in the order of their turns. */
  inTurn<One extends BonusCampaignRef>(open: readonly One[]): One[] {
    const by_tenant = new Map<string, One[]>();
    for (const one of open) {
      const of_tenant = by_tenant.get(one.tenant_id);
      if (of_tenant === undefined) by_tenant.set(one.tenant_id, [one]);
      else of_tenant.push(one);
    }
    this.#served = new Map([...this.#served].filter(([tenant_id]) => by_tenant.has(tenant_id)));
    const tenants = after([...by_tenant.keys()].sort(), (tenant_id) => tenant_id, this.#tenant);
    const queues = tenants.map((tenant_id) => {
      const campaigns = by_tenant.get(tenant_id) ?? [];
      return after(campaigns, ({ campaign_id }) => campaign_id, this.#served.get(tenant_id) ?? '');
    });
    return queues
      .flatMap((queue, place) => queue.map((one, round) => ({ one, round, place })))
      .sort((a, b) => a.round - b.round || a.place - b.place)
      .map(({ one }) => one);
  }

  /** Takes a place for the first of `waiting` that may have one, and removes it from there; undefined: none may. */
  take<One extends BonusCampaignRef>(waiting: One[]): One | undefined {
    if (this.#taken.size >= MAX_AT_WORK) return undefined;
    const at = waiting.findIndex((one) => this.#mayTake(one));
    const [one] = at < 0 ? [] : waiting.splice(at, 1);
    if (one === undefined) return undefined;
    this.#taken.set(one.campaign_id, one.tenant_id);
    this.#tenant = one.tenant_id;
    this.#served.set(one.tenant_id, one.campaign_id);
    return one;
  }

  /** Gives the place of the campaign back. */
  free({ campaign_id }: BonusCampaignRef): void {
    this.#taken.delete(campaign_id);
  }

  #mayTake({ campaign_id, tenant_id }: BonusCampaignRef): boolean {
    if (this.#taken.has(campaign_id)) return false;
    return [...this.#taken.values()].filter((one) => one === tenant_id).length < MAX_OF_TENANT;
  }
}

/** Sorted ones in their order, beginning behind the one of this key. */
function after<One>(sorted: readonly One[], keyOf: (one: One) => string, key: string): One[] {
  const next = sorted.findIndex((one) => keyOf(one) > key);
  return next < 0 ? [...sorted] : [...sorted.slice(next), ...sorted.slice(0, next)];
}
