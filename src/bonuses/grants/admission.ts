import { setTimeout as sleep } from 'node:timers/promises';
import type { Platform } from '../../platform/platform.ts';
import { Fence } from '../../protection/fence.ts';
import { selectIdsOf } from '../../protection/fence-queries.ts';
import { DEPARTURE_MS } from '../../ingest/intake/exclusions.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import { selectProtected, type Protected } from './admission-queries.ts';
import type { GrantRow } from './grant-row.ts';
import { recheck } from './recheck.ts';

/** How long a call waits for the fold in all, and one look at it: what it has not folded then is waited for apart. */
const PATIENCE_MS = 1_000;
const SETTLE_MS = DEPARTURE_MS / 2;
const POLL_MS = 20;
/** Looks at the same time; what is asked for meanwhile is looked at together. */
const MAX_LOOKS = 8;

/**
 * Whether the platform may be called for a player: `may`, if the first byte leaves until `by_ms` (`performance.now()`).
 * `behind`: not yet, because events of the player that were accepted before are not folded. `paused`: not yet, because
 * the tenant has paused its bonuses. `failed`: nobody knows. `barred`: never, by the reason, as in `details.reason` of
 * BONUS_PLAYER_NOT_ELIGIBLE.
 */
export type GrantVerdict =
  | { kind: 'may'; by_ms: number }
  | { kind: 'behind' }
  | { kind: 'paused' }
  | { kind: 'failed'; error: unknown }
  | { kind: 'barred'; reason: string };

interface Asked {
  grant: GrantRow;
  answer: (verdict: GrantVerdict) => void;
}

/**
 * Looks at players behind the fence, right before their platform is called. An exclusion counts from its 202,
 * which leaves DEPARTURE_MS after its event is on the log: so a look that did not see the event allows a call only for so
 * long. A grant that has waited is checked again, too.
 */
export class GrantAdmission {
  readonly #deps: Pick<Platform, 'postgres' | 'eventLog' | 'clock'>;
  readonly #fence: Fence;
  #asked: Asked[] = [];
  #looks = 0;

  constructor(deps: Pick<Platform, 'postgres' | 'eventLog' | 'clock'>) {
    this.#deps = deps;
    this.#fence = new Fence(deps);
  }

  /** The verdict on one grant; waits up to 1 s for the fold. Never rejects. */
  async lookAt(grant: GrantRow): Promise<GrantVerdict> {
    const until_ms = performance.now() + PATIENCE_MS;
    for (;;) {
      const verdict = await new Promise<GrantVerdict>((answer) => {
        this.#asked.push({ grant, answer });
        if (this.#asked.length === 1) setImmediate(() => this.#begin());
      });
      if (verdict.kind !== 'behind' || performance.now() >= until_ms) return verdict;
      await sleep(POLL_MS);
    }
  }

  /** One look for all that is asked. */
  #begin(): void {
    if (this.#looks >= MAX_LOOKS || this.#asked.length === 0) return;
    const asked = this.#asked;
    this.#asked = [];
    this.#looks++;
    void this.#look(asked.map(({ grant }) => grant))
      .catch((error: unknown): GrantVerdict => ({ kind: 'failed', error }))
      .then((found) => {
        this.#looks--;
        this.#begin();
        for (const { grant, answer } of asked) {
          answer(found instanceof Map ? (found.get(grant.grant_id) ?? { kind: 'behind' }) : found);
        }
      });
  }

  /** The verdicts by grant_id: one fence and a few statements for all. */
  async #look(grants: readonly GrantRow[]): Promise<Map<string, GrantVerdict>> {
    const { service } = this.#deps.postgres;
    // Before the end of the log is noted: what is accepted from here on may not be seen.
    const by_ms = performance.now() + DEPARTURE_MS;
    const mark = await this.#fence.note();
    const behind = await this.#fence.settle(mark, SETTLE_MS);
    // Read after the fence was passed, in the one place where the order matters.
    const now = new Date(this.#deps.clock.now_ms());
    const found = await selectProtected(service, grants, now);
    const verdicts = new Map<string, GrantVerdict>(
      grants.map(({ grant_id }) => [grant_id, { kind: 'may', by_ms }]),
    );
    for (const [grant_id, verdict] of await recheck(service, grants, found, now)) {
      verdicts.set(grant_id, verdict);
    }
    if (behind.size > 0) {
      for (const grant_id of await this.#heldBack(grants, found, mark, behind)) {
        verdicts.set(grant_id, { kind: 'behind' });
      }
    }
    // What an exclusion has said stays true, whatever else is not folded.
    for (const { grant_id, reason, is_paused } of found) {
      if (is_paused) verdicts.set(grant_id, { kind: 'paused' });
      if (reason !== null) verdicts.set(grant_id, { kind: 'barred', reason });
    }
    return verdicts;
  }

  /** The grants of players of whom events in these partitions may not be folded. */
  async #heldBack(
    grants: readonly GrantRow[],
    found: readonly Protected[],
    mark: Awaited<ReturnType<Fence['note']>>,
    behind: ReadonlySet<number>,
  ): Promise<string[]> {
    const current = new Map(found.map((one) => [one.grant_id, one.player_id]));
    const player_of = ({ grant_id, player_id }: GrantRow) => current.get(grant_id) ?? player_id;
    const held_back: string[] = [];
    for (const of_project of byProject(grants)) {
      const [first] = of_project;
      if (first === undefined) continue;
      const project = projectRefOf(first);
      const players = await selectIdsOf(this.#deps.postgres.service, project, [
        ...new Set(of_project.map(player_of)),
      ]);
      const held = new Set(
        players
          .filter(({ ids }) =>
            [...this.#fence.partitionsOf(mark, project, ids)].some((one) => behind.has(one)),
          )
          .map(({ player_id }) => player_id),
      );
      held_back.push(
        ...of_project.filter((grant) => held.has(player_of(grant))).map(({ grant_id }) => grant_id),
      );
    }
    return held_back;
  }
}

function byProject(grants: readonly GrantRow[]): GrantRow[][] {
  const groups = new Map<string, GrantRow[]>();
  for (const one of grants) {
    const key = `${one.tenant_id} ${one.project_id}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return [...groups.values()];
}
