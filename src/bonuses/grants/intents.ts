import type { ApiError } from '../../errors.ts';
import type { AuditedCall, WriteAuditRows } from '../../http/audit.ts';
import type { AnswerKey, StoredAnswer } from '../../http/endpoint.ts';
import { claimKeys, storeAnswers, type Claim } from '../../http/idempotency.ts';
import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/logger.ts';
import { limitBatch, TransactionBatcher, type BatchOutcome } from '../../platform/transaction-batcher.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { isDoubtful } from '../../platform/postgres/exclusive-pool.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { AskedGrant, CheckedGrant } from './checks.ts';
import { grantJson, type GrantRow } from './grant-row.ts';
import { CALL_MS, type GrantRequest, unavailable } from './issue.ts';
import { insertedRow } from './issue-queries.ts';
import type { Loss } from './loss.ts';
import { selectSurvivor } from './reserve-queries.ts';
import { GrantStore } from './store.ts';

/** What storing intents needs. */
export interface IntentDeps {
  postgres: Postgres;
  clock: Clock;
  logger: Logger;
  metrics: Pick<Metrics, 'bonusLotsUndone'>;
  writeAuditRows: WriteAuditRows;
}

/** A request for a grant whose intent is to be stored. */
export interface IntentRequest {
  project: ProjectRef;
  request: GrantRequest;
  /** The project's platform, or why it has none: that is thrown after all other checks. */
  platform: { slug: string } | ApiError;
  /** `behind`: the loss of a cashback is not known yet, which is thrown after all checks that do without. */
  loss: Loss | 'behind';
  /** Who calls, for the audit log. */
  call: AuditedCall;
  key: AnswerKey | undefined;
}

/** The stored intent, or the answer that the request's key has already. */
export type Intended = { intent: GrantRow } | { before: StoredAnswer };

/**
 * Stores the intents of grants: those of one project that are asked for together share a transaction
 * ({@link TransactionBatcher}), in which they take the template's budget in their order. A lot waits for no player: a
 * request whose player another transaction holds goes alone, and so does each request of a lot that Postgres refuses, so
 * that none fails or waits because of another.
 */
export class Intents {
  readonly #deps: IntentDeps;
  readonly #batcher: TransactionBatcher<IntentRequest, Intended>;

  constructor(deps: IntentDeps) {
    this.#deps = deps;
    this.#batcher = new TransactionBatcher({
      kindOf: ({ project }) => `${project.tenant_id} ${project.project_id}`,
      groupOf: ({ project }) => project.tenant_id,
      namesOf: ({ request, key }) => [
        `player ${request.player_id}`,
        ...(key === undefined ? [] : [`key ${key.route} ${key.key}`]),
      ],
      runBatch: (lot) => this.#runBatch(lot),
      retryAlone: {
        run: (one) => this.#runAlone(one),
        isFinal: isDoubtful,
        onFailure: (err) => {
          deps.metrics.bonusLotsUndone.inc({ work: 'grant_intents' });
          deps.logger.debug({ err }, 'a lot of bonus grants is run one by one');
        },
      },
    });
  }

  /**
   * Commits the intent of a grant with its budget and its place, the audit row, and, under a key, the answer of repeated
   * requests. Rejects with the first error in the order of the documentation; then nothing was stored. The caller calls
   * the platform itself, right after.
   */
  intend(asked: IntentRequest): Promise<Intended> {
    return this.#batcher.run(asked);
  }

  #runBatch(lot: readonly IntentRequest[]): Promise<BatchOutcome<Intended>[]> {
    return this.#deps.postgres.asTenant(lot[0]?.project.tenant_id ?? '', async (tx) => {
      const store = new GrantStore(tx, this.#now());
      const wanted = lot.map(askedGrantOf);
      const [, claims, locked] = await Promise.all([
        limitBatch(tx),
        claimKeys(
          tx,
          lot.map(({ key }) => key),
        ),
        store.lock(wanted, false),
      ]);
      const is_of_lot = (_: unknown, i: number) =>
        claims[i]?.kind === 'free' && locked.has(wanted[i]?.player_id ?? '');
      const decided = await this.#store(tx, store, lot.filter(is_of_lot), wanted.filter(is_of_lot));
      return lot.map((one, i) => {
        const claim = claims[i];
        return (
          (claim === undefined ? undefined : withoutClaim(claim)) ??
          decided.get(one) ?? { kind: 'retry_alone' }
        );
      });
    });
  }

  /** One request in a transaction of its own, which waits for the player; after a merge the survivor is granted. */
  #runAlone(one: IntentRequest): Promise<Intended> {
    return retryConflicts(() =>
      this.#deps.postgres.asTenant(one.project.tenant_id, async (tx): Promise<Intended> => {
        const [claim] = await claimKeys(tx, [one.key]);
        if (claim?.kind === 'refused') throw claim.error;
        if (claim?.kind === 'answered') return { before: claim.before };
        let wanted = askedGrantOf(one);
        let store = new GrantStore(tx, this.#now());
        const locked = await store.lock([wanted], true);
        const survivor = locked.has(wanted.player_id) ? undefined : await selectSurvivor(tx, wanted);
        if (survivor !== undefined) {
          wanted = { ...wanted, player_id: survivor };
          store = new GrantStore(tx, this.#now());
          await store.lock([wanted], true);
        }
        const { intent } = await store.makeOne(wanted);
        const row = insertedRow(intent);
        await this.#record(tx, [{ one, row }]);
        return { intent: row };
      }),
    );
  }

  /** Checks and writes the grants of requests of a lot whose players are locked; what became of each. */
  async #store(
    tx: Tx,
    store: GrantStore,
    requests: readonly IntentRequest[],
    wanted: readonly AskedGrant[],
  ): Promise<Map<IntentRequest, BatchOutcome<Intended>>> {
    const decided = await store.decide(wanted);
    const outcomes = new Map<IntentRequest, BatchOutcome<Intended>>();
    const passed: { one: IntentRequest; checked: CheckedGrant; row: GrantRow }[] = [];
    requests.forEach((one, i) => {
      const outcome = decided[i];
      if (outcome?.kind === 'refused') outcomes.set(one, outcome);
      if (outcome?.kind !== 'passed') return;
      const row = insertedRow(outcome.checked.intent);
      passed.push({ one, checked: outcome.checked, row });
      outcomes.set(one, { kind: 'done', value: { intent: row } });
    });
    if (passed.length > 0) {
      await Promise.all([store.write(passed.map(({ checked }) => checked)), this.#record(tx, passed)]);
    }
    return outcomes;
  }

  /** Writes the audit rows and, under the keys, the answer that repeated requests get meanwhile. */
  async #record(tx: Tx, stored: readonly { one: IntentRequest; row: GrantRow }[]): Promise<void> {
    const settles_at = new Date(this.#deps.clock.now_ms() + CALL_MS);
    await Promise.all([
      this.#deps.writeAuditRows(
        tx,
        stored.map(({ one: { project, call }, row }) => ({
          call,
          change: { ...project, resource_id: row.grant_id, before: null, after: grantJson(row) },
        })),
      ),
      storeAnswers(
        tx,
        stored.flatMap(({ one: { key }, row }) => {
          if (key === undefined) return [];
          const answer = unavailable(row, 'the platform was not asked yet; the grant is queued');
          return [{ key, answer, settles_at }];
        }),
      ),
    ]);
  }

  #now(): Date {
    return new Date(this.#deps.clock.now_ms());
  }
}

/** What a key has already said; undefined when the request is to be worked on. */
function withoutClaim(claim: Claim): BatchOutcome<Intended> | undefined {
  if (claim.kind === 'answered') return { kind: 'done', value: { before: claim.before } };
  return claim.kind === 'refused' ? claim : undefined;
}

function askedGrantOf({ project, request, platform, loss }: IntentRequest): AskedGrant {
  return {
    ...request,
    ...project,
    grant_id: request.grant_id ?? newId(),
    platform,
    is_attempted: true,
    ...(loss === 'behind' ? { is_loss_behind: true } : loss),
  };
}
