import type { ProjectRef } from '../tenants/project-ref.ts';
import { MAX_LISTED, type Difference } from './schema.ts';

/** Differences that are remembered for another comparison. With more of them ClickHouse is not merely behind. */
const MAX_REMEMBERED = 100_000;

/** Tables of ClickHouse that are rebuilt together. */
export type Family = 'events' | 'aliases' | 'players' | 'members' | 'messages' | 'journeys';

const FAMILIES: Record<NonNullable<Difference['table']>, Family> = {
  events: 'events',
  events_by_player: 'events',
  player_aliases: 'aliases',
  players: 'players',
  segment_members: 'members',
  message_sends: 'messages',
  campaign_sends: 'messages',
  journey_sends: 'messages',
  journey_runs: 'journeys',
  journey_steps: 'journeys',
};

/** Collects the differences of a comparison in bounded memory. */
export class Findings {
  count = 0;
  readonly listed: Difference[] = [];
  /** How many differences each tenant has. */
  readonly by_tenant = new Map<string, number>();
  /** The projects that differ in ClickHouse, by what differs. */
  readonly differing = new Map<Family, Map<string, ProjectRef>>();
  #keys = new Set<string>();
  #before: Findings | undefined;

  /** With `before`, only differences count that the earlier comparison found, too. */
  constructor(before?: Findings) {
    this.#before = before;
  }

  /** So many that none is confirmed. */
  get isFull(): boolean {
    return this.count > MAX_REMEMBERED;
  }

  add(difference: Difference): void {
    const key = keyOf(difference);
    if (this.#before !== undefined && !this.#before.#keys.has(key)) return;
    this.count++;
    if (this.#keys.size < MAX_REMEMBERED) this.#keys.add(key);
    if (this.listed.length < MAX_LISTED) this.listed.push(difference);
    const { table, tenant_id, project_id } = difference;
    this.by_tenant.set(tenant_id, (this.by_tenant.get(tenant_id) ?? 0) + 1);
    if (table === null) return;
    const family = FAMILIES[table];
    const projects = this.differing.get(family) ?? new Map<string, ProjectRef>();
    this.differing.set(family, projects.set(`${tenant_id} ${project_id}`, { tenant_id, project_id }));
  }
}

function keyOf({ check, table, project_id, player_id, field }: Difference): string {
  return `${check} ${table} ${project_id} ${player_id} ${field}`;
}
