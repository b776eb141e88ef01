import type { ApiError } from '../../errors.ts';
import type { AnswerKey } from '../../http/endpoint.ts';
import { storeAnswers } from '../../http/idempotency.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';
import {
  limitBatch,
  BATCH_LIMITS,
  TransactionBatcher,
  type BatchLimits,
  type BatchOutcome,
} from '../../platform/transaction-batcher.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { commitLater } from '../../platform/postgres/commits.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { isDoubtful } from '../../platform/postgres/exclusive-pool.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import { conclude, concludeLocked, isRepeatable, type Concluded, type Conclusion } from './conclude.ts';
import type { GrantRow } from './grant-row.ts';
import { lockFree } from './queries.ts';

/** What concluding calls needs. */
export interface ConclusionDeps {
  postgres: Postgres;
  clock: Clock;
  logger: Logger;
  metrics: Pick<Metrics, 'bonusLotsUndone'>;
}

/** What a call of a request has led to. */
export interface ConcludedRequest extends Concluded {
  key: AnswerKey | undefined;
}

/** The answer to the caller: a response body or an error. */
export type AnswerTo = (row: GrantRow, conclusion: Conclusion) => string | ApiError;

/** What a platform has done is never turned away: no more wait than calls were under way. */
const LIMITS: BatchLimits = {
  ...BATCH_LIMITS,
  waiting: { max_waiting: Infinity, max_waiting_of_group: Infinity, max_wait_ms: Infinity },
};

/**
 * Commits what calls have led to, with the answers to their callers under their keys: those of one project that end
 * together share a transaction ({@link TransactionBatcher}). A grant that another transaction holds goes alone.
 */
export class Conclusions {
  readonly #deps: ConclusionDeps;
  readonly #answerTo: AnswerTo;
  readonly #batcher: TransactionBatcher<ConcludedRequest, string | ApiError>;

  constructor(deps: ConclusionDeps, answerTo: AnswerTo) {
    this.#deps = deps;
    this.#answerTo = answerTo;
    this.#batcher = new TransactionBatcher(
      {
        kindOf: ({ claimed }) => `${claimed.tenant_id} ${claimed.project_id}`,
        groupOf: ({ claimed }) => claimed.tenant_id,
        namesOf: ({ claimed }) => [claimed.grant_id],
        runBatch: (lot) => this.#runBatch(lot),
        retryAlone: {
          run: (one) => this.#runAlone(one),
          isFinal: isDoubtful,
          onFailure: (err) => {
            deps.metrics.bonusLotsUndone.inc({ work: 'grant_conclusions' });
            deps.logger.debug({ err }, 'a lot of calls for bonuses is concluded one by one');
          },
        },
      },
      LIMITS,
    );
  }

  /** Resolves with the committed answer. */
  conclude(one: ConcludedRequest): Promise<string | ApiError> {
    return this.#batcher.run(one);
  }

  #runBatch(lot: readonly ConcludedRequest[]): Promise<BatchOutcome<string | ApiError>[]> {
    const [first] = lot;
    if (first === undefined) return Promise.resolve([]);
    return this.#deps.postgres.asTenant(first.claimed.tenant_id, async (tx) => {
      if (lot.every(isRepeatable)) commitLater(tx);
      const [, found] = await Promise.all([
        limitBatch(tx),
        lockFree(
          tx,
          projectRefOf(first.claimed),
          lot.map(({ claimed }) => claimed.grant_id),
        ),
      ]);
      const locked_of = new Map(found.map((row) => [row.grant_id, row]));
      const concluded = lot.flatMap((one) => {
        const locked = locked_of.get(one.claimed.grant_id);
        return locked === undefined ? [] : [{ ...one, locked }];
      });
      const rows = await concludeLocked(tx, concluded, this.#now());
      const answers = new Map<string, string | ApiError>();
      concluded.forEach(({ conclusion }, i) => {
        const row = rows[i];
        if (row !== undefined) answers.set(row.grant_id, this.#answerTo(row, conclusion));
      });
      await storeAnswers(
        tx,
        lot.flatMap(({ claimed, key }) => {
          const answer = answers.get(claimed.grant_id);
          return answer === undefined ? [] : [{ key, answer, settles_at: null }];
        }),
      );
      return lot.map(({ claimed }) => {
        const value = answers.get(claimed.grant_id);
        return value === undefined ? { kind: 'retry_alone' } : { kind: 'done', value };
      });
    });
  }

  #runAlone({ claimed, conclusion, key }: ConcludedRequest): Promise<string | ApiError> {
    return retryConflicts(() =>
      this.#deps.postgres.asTenant(claimed.tenant_id, async (tx) => {
        const row = await conclude(tx, claimed, conclusion, this.#now());
        const answer = this.#answerTo(row, conclusion);
        await storeAnswers(tx, [{ key, answer, settles_at: null }]);
        return answer;
      }),
    );
  }

  #now(): Date {
    return new Date(this.#deps.clock.now_ms());
  }
}
