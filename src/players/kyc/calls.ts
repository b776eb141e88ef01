import type { KycAnswer } from '../../adapters/platform.ts';
import type { KycInitiateBody, KycUpdateBody } from '../../adapters/protocol.ts';
import type { Platforms } from '../../adapters/platforms.ts';
import { callPauseMs } from '../../adapters/retry-schedule.ts';
import { CallQueue } from '../../platform/call-queue/call-queue.ts';
import type { LaneVerdict } from '../../platform/call-queue/lanes.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import { newId } from '../../platform/ids.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { PlayerRef } from '../player-ref.ts';
import {
  claimCalls,
  claimNewCall,
  insertCall,
  postponeCall,
  removeCall,
  selectPresent,
  selectWaitingProjects,
  type ClaimedCall,
  removeOldCalls,
} from './call-queries.ts';
import { inBatches } from '../../platform/in-batches.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Turned } from '../../platform/poll-loop.ts';

/** The dependencies of telling platforms about KYC. */
export interface CallerDeps {
  postgres: Postgres;
  clock: Clock;
  logger: Logger;
  platforms: Pick<Platforms, 'of'>;
}

/** A request without a usable answer is given up after this time, and stays visible. */
export const GIVE_UP_AFTER_MS = 24 * 3_600_000;
/** How long a claim lasts: longer than any attempt, which signs with at most two secrets and waits 30 s for each. */
const CLAIM_MS = 90_000;
/** How long the caller of the API waits for the platform. */
const INLINE_MS = 1_000;

/** A call to make: the body without what every body has. */
export type NewCall =
  | ({ action: 'initiate' } & Pick<KycInitiateBody, 'level' | 'requirements'>)
  | ({ action: 'update' } & Pick<KycUpdateBody, 'status' | 'level' | 'reason'>);

/** Queues the call in the transaction of the decision; it comes due when the caller of the API has stopped waiting. */
export async function queueCall(
  tx: Tx,
  ref: PlayerRef,
  player_external_id: string,
  { action, ...said }: NewCall,
  now_ms: number,
): Promise<string> {
  const call_id = newId();
  const body = JSON.stringify({ tenant_id: ref.tenant_id, player_external_id, ...said });
  const created_at = new Date(now_ms);
  await insertCall(tx, { ...ref, call_id, action, body, created_at }, new Date(now_ms + INLINE_MS));
  return call_id;
}

/**
 * Tells platforms what was decided about players (bonuses part 8). A call is kept until the platform has answered it, and
 * is repeated with the same key and bytes; of one player the earlier call goes first, also while it is being made. Calls of
 * one project are a lane ({@link CallQueue}). The limits of the adapter hold inside `Platforms`.
 */
export class KycCaller {
  readonly #deps: CallerDeps;
  readonly #queue: CallQueue<ProjectRef, ClaimedCall>;
  /** Attempts that the caller of the API no longer waits for. */
  readonly #late = new Set<Promise<unknown>>();

  /** `onFree`: a place is free for which a call may be waiting. */
  constructor(deps: CallerDeps, onFree?: () => void) {
    this.#deps = deps;
    this.#queue = new CallQueue(
      deps.clock,
      {
        keyOf: ({ project_id }) => project_id,
        sharesOf: ({ tenant_id }) => [tenant_id],
        find: (after, limit) => selectWaitingProjects(deps.postgres.service, after, limit),
        claim: (projects) => this.#claim(projects),
        call: (call) => this.#attemptDue(call),
      },
      onFree,
    );
  }

  /** Whether the project's platform is to be informed. Unknown counts as yes: the call is queued then. Never rejects. */
  async wantsToKnow({ tenant_id, project_id }: PlayerRef): Promise<boolean> {
    try {
      return (await this.#deps.platforms.of({ tenant_id, project_id })).capabilities.kyc;
    } catch {
      return true;
    }
  }

  /** Makes a new call at once; resolves after 1 s at the latest. True: the platform has taken it. Never rejects. */
  async tryNow(ref: PlayerRef & { call_id: string }): Promise<boolean> {
    const attempt = this.#attemptNew(ref);
    const tracked = attempt.finally(() => this.#late.delete(tracked));
    this.#late.add(tracked);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), INLINE_MS);
    });
    try {
      return await Promise.race([tracked, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Begins the calls that are due and have a place: see {@link CallQueue}. */
  turn(stop?: AbortSignal): Promise<Turned> {
    return this.#queue.turn(stop);
  }

  /** Waits for the running attempts. */
  async close(): Promise<void> {
    await Promise.all([this.#queue.close(), ...this.#late]);
  }

  async *#claim(projects: readonly (ProjectRef & { places: number })[]): AsyncGenerator<ClaimedCall[]> {
    const { postgres, clock, logger } = this.#deps;
    let failure: unknown;
    for (const { places, ...project } of projects) {
      // A claim before may have taken long.
      const now = new Date(clock.now_ms());
      const until = new Date(now.getTime() + CLAIM_MS);
      const terms = { now, until, limit: places };
      yield await claimCalls(postgres.service, project, terms).catch((err: unknown) => {
        const { project_id } = project;
        logger.warn({ err, project_id }, 'calls about KYC could not be claimed; they stay due');
        failure ??= err;
        return [];
      });
    }
    // Others have had their turns: the loop pauses longer each time.
    if (failure !== undefined) throw failure;
  }

  /** Never rejects. */
  async #attemptDue(call: ClaimedCall): Promise<LaneVerdict> {
    try {
      return (await this.#attempt(call)) ? 'answered' : 'not_made';
    } catch (error) {
      const { project_id, call_id } = call;
      this.#deps.logger.warn({ err: error, project_id, call_id }, 'a call about KYC failed; it is due again');
      return 'not_made';
    }
  }

  async #attemptNew(ref: PlayerRef & { call_id: string }): Promise<boolean> {
    const { postgres, clock, logger } = this.#deps;
    try {
      const call = await claimNewCall(postgres.service, ref, new Date(clock.now_ms() + CLAIM_MS));
      return call !== undefined && (await this.#attempt(call));
    } catch (error) {
      logger.warn({ err: error, call_id: ref.call_id }, 'a call about KYC failed; it stays queued');
      return false;
    }
  }

  async #attempt(call: ClaimedCall): Promise<boolean> {
    const { postgres } = this.#deps;
    const end = (provider_ref: string | null) =>
      postgres.service.begin((tx) => removeCall(tx, call, provider_ref));
    if (!(await this.#isTrue(call))) {
      await end(null);
      return true;
    }
    const answer = await this.#ask(call);
    // Whether the platform wants to know is asked at the time of the call.
    if (answer.kind === 'accepted' || answer.kind === 'unsupported') {
      await end(answer.kind === 'accepted' ? answer.provider_ref : null);
      return true;
    }
    await this.#postpone(call, answer);
    return false;
  }

  /**
   * Whether an update is still to be sent: another decision may have been made since, also by the platform itself. A case
   * that was opened since takes no refusal back.
   */
  async #isTrue(call: ClaimedCall): Promise<boolean> {
    if (call.action !== 'update') return true;
    const [present] = await selectPresent(this.#deps.postgres.service, call);
    if (present === undefined) return true;
    const { status, level } = JSON.parse(call.body) as Pick<KycUpdateBody, 'status' | 'level'>;
    if (status !== 'approved') return present.status !== 'approved';
    return present.status === 'approved' && present.level === level;
  }

  /** A decision is sent again until the platform takes it, even after refusals. A request is given up after a refusal. */
  async #postpone(
    call: ClaimedCall,
    answer: Exclude<KycAnswer, { kind: 'accepted' | 'unsupported' }>,
  ): Promise<void> {
    const { postgres, clock, logger } = this.#deps;
    const now_ms = clock.now_ms();
    const is_refused = answer.kind === 'refused';
    const asked_ms = answer.kind === 'unsent' ? (answer.retry_after_ms ?? 0) : 0;
    const is_late = now_ms - call.created_at.getTime() >= GIVE_UP_AFTER_MS;
    const is_over = call.action === 'initiate' && (is_refused || is_late);
    const next = is_over ? null : new Date(now_ms + callPauseMs(call.call_id, call.attempts, asked_ms));
    const code = is_refused ? `${answer.code}: ` : '';
    const why = `${code}${answer.message}`.slice(0, 500);
    await postgres.service.begin((tx) => postponeCall(tx, call, next, why));
    if (!is_over && !is_refused) return;
    const { tenant_id, project_id, player_id, call_id, attempts } = call;
    const what = is_over
      ? 'a request of KYC was given up'
      : 'a decision about KYC was refused; it is sent again';
    logger.warn({ tenant_id, project_id, player_id, call_id, attempts }, what);
  }

  async #ask({ tenant_id, project_id, action, call_id, body, attempts }: ClaimedCall): Promise<KycAnswer> {
    try {
      const platform = await this.#deps.platforms.of({ tenant_id, project_id });
      return await platform.kyc({ action, call_id, body }, attempts);
    } catch (error) {
      const message = error instanceof Error ? error.message : 'the platform could not be read';
      return { kind: 'unsent', reason: 'unreachable', message };
    }
  }
}

/** How long a call that was given up stays visible. */
const RETENTION_MS = 90 * 86_400_000;

/** Removes calls of platforms that were given up 90 days ago. Decisions are kept. */
export async function cleanUpKyc(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  stop?: AbortSignal,
): Promise<void> {
  const before = new Date(clock.now_ms() - RETENTION_MS);
  await inBatches((limit) => removeOldCalls(postgres.service, before, limit), stop);
}
