import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../../../errors.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { isDataError, isWriteConflict, retryConflicts } from '../../../platform/postgres/retry.ts';
import { projectRefOf, type ProjectRef } from '../../../tenants/project-ref.ts';
import type { Platform } from '../../../platform/platform.ts';
import {
  advanceClaimed,
  failClaimed,
  postponeClaimed,
  Unwritable,
  type AskingRun,
  type BatchResult,
} from './advance-batch.ts';
import { Answering } from './answering.ts';
import { BatchSize } from './batch-size.ts';
import {
  ALMOST_DUE_MS,
  claimByProject,
  claimDue,
  claimTimers,
  keepPlans,
  selectNextDue,
  type Timer,
} from './claim-queries.ts';
import { Definitions } from './definitions.ts';
import { answerKey, type Answers } from './facts.ts';
import { News } from './news.ts';
import { answerQuestions } from './questions.ts';
import { StartNotes, StartsMissing } from './wait-starts.ts';
import { noteJourneyError } from './journey-queries.ts';

/** The parts of the platform that a runner uses, and the key under which protections of erased people are kept. */
export interface RunnerDeps extends Pick<
  Platform,
  'postgres' | 'clickhouse' | 'eventLog' | 'clock' | 'logger' | 'metrics'
> {
  erasure_key: Buffer;
}

/** While more is due than fits into a batch, so many projects share one. */
const PROJECTS = 10;
/** The pause while everything that is due is being moved by another process. */
const BUSY_PAUSE_MS = 250;

/** How a batch finds its timers. */
type Claim = (tx: Tx) => Promise<Timer[]>;

/** The timers that a batch claimed, those of them that it left for another one, and the time of its transaction. */
interface Served {
  claimed: readonly Timer[];
  left: readonly Timer[];
  took_ms: number;
}

/**
 * Moves runs whose rest has ended to their next one. A batch is one short transaction: it deletes due timers, locks
 * their runs, decides with a pure function, and writes steps, effects and new timers. A crash rolls all of it back, so
 * nothing has to be taken over. Runners of several processes take disjoint batches.
 *
 * While more is due than fits into a batch, batches take a quota of each project in turn, then what is due the longest,
 * and a second batch runs at the same time as the first (`turnSecond`): while Postgres writes one, this process decides
 * the other.
 * A run that asks about its player's history rests until ClickHouse has answered, outside of the transaction, so that a
 * slow question does not delay another run. A run that fails ends; it never stops its batch.
 */
export class JourneyRunner {
  readonly #deps: RunnerDeps;
  readonly #definitions = new Definitions();
  readonly #size = new BatchSize();
  readonly #answering = new Answering((asking) => this.#answer(asking));
  /** More was due than fitted into the last batch. `after`: projects up to this one had their share. */
  #crowd: { after: ProjectRef | undefined } | undefined;
  readonly #starts: StartNotes;
  readonly #news: News;
  /** Settles when the latest claim has. */
  #claimed: Promise<unknown> = Promise.resolve();
  #woken = new AbortController();
  /** Called when more has come due than fits into a batch: `turnSecond` has something to do. */
  onCrowd: () => void = () => undefined;
  /** Called when runs have begun to wait for events. */
  onWaiting: () => void = () => undefined;

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
    this.#starts = new StartNotes(deps);
    this.#news = new News(deps);
  }

  /** Moves the runs of one batch, or waits until the next one is due; false when none is {@link ALMOST_DUE_MS almost due}. */
  async turn(stop?: AbortSignal): Promise<boolean> {
    const { postgres, clock, metrics } = this.#deps;
    this.#woken = new AbortController();
    const { signal } = this.#woken;
    const next = await selectNextDue(postgres.service);
    const late_ms = next === undefined ? Number.NEGATIVE_INFINITY : clock.now_ms() - next.getTime();
    metrics.journeyTimerLag.set(Math.max(late_ms, 0) / 1_000);
    if (late_ms >= 0 && (await this.#batch())) return true;
    if (stop?.aborted === true) return true;
    if (late_ms < -ALMOST_DUE_MS) return false;
    const pause_ms = late_ms >= 0 ? BUSY_PAUSE_MS : -late_ms;
    const end = () => this.#woken.abort();
    stop?.addEventListener('abort', end, { once: true });
    await sleep(pause_ms, undefined, { signal }).catch(() => undefined);
    stop?.removeEventListener('abort', end);
    return true;
  }

  /** Moves the runs of a second batch at the same time as `turn`. False when one batch is enough for all that is due. */
  async turnSecond(): Promise<boolean> {
    if (this.#crowd === undefined || !(await this.#batch())) return false;
    // `turn` may pause because all that was due was being moved here; some of it may be due again.
    this.wake();
    return true;
  }

  /** Ends the pause: a timer may be due. */
  wake(): void {
    this.#woken.abort();
  }

  /** Resolves when the running answers have ended. */
  async close(): Promise<void> {
    await this.#answering.close();
  }

  /** Whether there was anything to claim. */
  async #batch(): Promise<boolean> {
    const now = new Date(this.#deps.clock.now_ms());
    const limit = this.#size.runs;
    const claim: Claim = (tx) => this.#inTurn(() => this.#claim(tx, now, limit));
    const { claimed, left, took_ms } = await this.#serve(claim);
    this.#size.note({ took_ms, claimed: claimed.length, left: left.length });
    if (left.length > 0) this.#crowd ??= { after: undefined };
    return claimed.length > 0;
  }

  /** Claims a batch, and notes who comes next. */
  async #claim(tx: Tx, now: Date, limit: number): Promise<Timer[]> {
    const shares =
      this.#crowd === undefined
        ? []
        : await claimByProject(tx, now, this.#crowd.after, { limit, quota: Math.ceil(limit / PROJECTS) });
    if (shares.length === limit) {
      this.#crowd = { after: lastProject(shares) };
      return shares;
    }
    // All projects had their share: the rest of the batch is for the runs that have been due the longest.
    const claimed = [...shares, ...(await claimDue(tx, now, limit - shares.length))];
    const was_crowded = this.#crowd !== undefined;
    this.#crowd = claimed.length < limit ? undefined : { after: undefined };
    if (!was_crowded && this.#crowd !== undefined) this.onCrowd();
    return claimed;
  }

  /** One claim after the other, so that each begins with the projects behind those of the one before it. */
  async #inTurn<T>(claim: () => Promise<T>): Promise<T> {
    const claiming = this.#claimed.then(claim);
    this.#claimed = claiming.catch(() => undefined);
    return claiming;
  }

  /** Moves the runs of what `claim` claims. */
  async #serve(claim: Claim, answers?: ReadonlyMap<string, Answers>): Promise<Served> {
    let claimed: readonly Timer[] = [];
    let left: readonly Timer[] = [];
    let since_ms = performance.now();
    const noting: Claim = async (tx) => {
      since_ms = performance.now();
      return (claimed = await claim(tx));
    };
    try {
      const result = await this.#transaction(noting, answers);
      this.#note(result);
      this.#answering.add(result.asking);
      if (result.waiting > 0) this.onWaiting();
      ({ left } = result);
    } catch (error) {
      if (error instanceof StartsMissing) return this.#serve(claim, answers);
      if (!isRefusal(error) || claimed.length === 0) throw error;
      await this.#isolate(claimed, answers, error);
    }
    return { claimed, left, took_ms: performance.now() - since_ms };
  }

  async #transaction(claim: Claim, answers: ReadonlyMap<string, Answers> | undefined): Promise<BatchResult> {
    const { postgres, clock, metrics, erasure_key } = this.#deps;
    const done = metrics.journeyBatchSeconds.startTimer();
    const result = await retryConflicts(async () => {
      const starts = await this.#starts.take();
      return postgres.service.begin(async (tx) => {
        const context = { definitions: this.#definitions, clock, starts, answers, erasure_key };
        const [timers] = await Promise.all([claim(tx), keepPlans(tx)]);
        const advanced = await advanceClaimed(tx, timers, context);
        if (advanced.without_start > 0 && this.#starts.need()) throw new StartsMissing();
        return advanced;
      });
    });
    if (result.claimed > 0) done();
    return result;
  }

  /** Postgres refused something of the batch: halving finds the run that it belongs to, which fails. */
  async #isolate(
    timers: readonly Timer[],
    answers: ReadonlyMap<string, Answers> | undefined,
    error: unknown,
  ): Promise<void> {
    const [first] = timers;
    if (first === undefined) return;
    if (timers.length === 1) {
      this.#logFailure(first.run_id, error);
      await this.#fail(first);
      return;
    }
    const middle = Math.ceil(timers.length / 2);
    for (const half of [timers.slice(0, middle), timers.slice(middle)]) {
      await this.#serve((tx) => claimTimers(tx, half), answers);
    }
  }

  /** A run that cannot even fail goes on later: it stays visible, and stops no other. */
  async #fail(timer: Timer): Promise<void> {
    const { postgres, clock, logger } = this.#deps;
    const claimed = (work: (tx: Tx, timers: readonly Timer[]) => Promise<number>) =>
      retryConflicts(() => postgres.service.begin(async (tx) => work(tx, await claimTimers(tx, [timer]))));
    try {
      const context = { definitions: this.#definitions, clock };
      this.#count('failed', await claimed((tx, timers) => failClaimed(tx, timers, context)));
    } catch (error) {
      this.#count('postponed', await claimed((tx, timers) => postponeClaimed(tx, timers, clock)));
      const { run_id } = timer;
      logger.error({ run_id, reason: reasonOf(error) }, 'a run could not be failed; it goes on in a minute');
    }
  }

  #count(outcome: string, count: number): void {
    if (count > 0) this.#deps.metrics.journeyRunsMoved.inc({ outcome }, count);
  }

  #note({ moved, held, without_start, errors, unreadable, writes }: BatchResult): void {
    const { journeySteps } = this.#deps.metrics;
    for (const { node_type: type, status: outcome } of writes.steps) journeySteps.inc({ type, outcome });
    const outcomes = { ...moved, held, postponed: without_start };
    for (const [outcome, count] of Object.entries(outcomes)) this.#count(outcome, count);
    for (const { run_id, error } of errors) this.#logFailure(run_id, error);
    const { logger, postgres } = this.#deps;
    for (const { ref, reason } of unreadable.values()) {
      const { journey_id, version } = ref;
      logger.error({ journey_id, version, reason }, 'runs wait: the version of their journey cannot be read');
      const message = `version ${version} cannot be read: ${reason}`;
      noteJourneyError(postgres.service, ref, message).catch((err: unknown) =>
        logger.warn({ err, journey_id }, 'the reason why runs wait could not be stored'),
      );
    }
  }

  /** The error itself is not logged: Postgres quotes rows in it. */
  #logFailure(run_id: string, error: unknown): void {
    this.#deps.logger.error({ run_id, reason: reasonOf(error) }, 'a run failed at its step');
  }

  /** Answers questions of one project; never rejects. After a failure the runs ask again when they come due. */
  async #answer(asking: readonly AskingRun[]): Promise<void> {
    const [first] = asking;
    if (first === undefined) return;
    const project = projectRefOf(first.run);
    try {
      const answers = await answerQuestions({ ...this.#deps, news: this.#news }, project, asking);
      // The others wait for their timers: while a processor is stopped they would ask without a pause.
      const ready = asking.filter(({ run }) => answers.has(answerKey(run)));
      this.#deps.metrics.journeyQuestionsBehind.inc(asking.length - ready.length);
      // Each batch moves a run at least.
      for (let open: readonly Timer[] = ready.map(({ timer }) => timer); open.length > 0;) {
        const timers = open;
        open = (await this.#serve((tx) => claimTimers(tx, timers), answers)).left;
      }
    } catch (error) {
      const { project_id } = project;
      this.#deps.metrics.journeyQuestionsFailed.inc();
      this.#deps.logger.warn(
        { err: error, project_id, runs: asking.length },
        'a branch could not be decided; its runs wait',
      );
    }
  }
}

/** Whether trying again cannot help: the data of some run is at fault. Conflicts come here after all attempts. */
function isRefusal(error: unknown): boolean {
  return (
    isDataError(error) ||
    error instanceof Unwritable ||
    error instanceof ApiError ||
    (isWriteConflict(error) && codeOf(error) === '23505')
  );
}

function reasonOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return String(code ?? name);
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string }).code;
}

/** The last project in the order of ids. */
function lastProject(timers: readonly Timer[]): ProjectRef | undefined {
  const keyOf = ({ tenant_id, project_id }: ProjectRef) => `${tenant_id} ${project_id}`;
  return timers.reduce<ProjectRef | undefined>(
    (last, one) => (last === undefined || keyOf(one) > keyOf(last) ? projectRefOf(one) : last),
    undefined,
  );
}
