import { ApiError, validationError } from '../../../errors.ts';
import type { AuditChange } from '../../../http/audit.ts';
import { requireLiveRow, requireRow } from '../../../http/record.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Platform } from '../../../platform/platform.ts';
import { newId } from '../../../platform/ids.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { playerNotFound } from '../../../players/profile/read.ts';
import type { Definitions } from './definitions.ts';
import { enter } from './entry.ts';
import { selectJourney, watchesEvents, type JourneyKey } from './journey-queries.ts';
import { storedBytes } from '../../../platform/exact-json.ts';
import { lockLivePlayer, selectRun } from './read-queries.ts';
import { JOURNEY, RUN } from './read.ts';
import { auditedRunOf, runResourceOf, type RunResource } from './run-json.ts';
import { MAX_CONTEXT_BYTES } from './run-row.ts';
import type { RunContext } from './shapes.ts';
import { noteWaitStarts, type WaitStarts } from './wait-starts.ts';

/** Fields of the context that belong to the service. */
const RESERVED = ['events', 'responses'];

/** What a caller starts a run with. */
export interface TriggerBody {
  player_id: string;
  context?: Record<string, unknown> | undefined;
}

/** What starting a run needs in addition to its transaction. */
export interface TriggerContext {
  definitions: Definitions;
  clock: Clock;
  audit: AuditChange;
  /** Where the log ended before the transaction: {@link startsOfTrigger}. */
  starts: WaitStarts | undefined;
}

/**
 * Where the log of events ends now; undefined: runs of the journey wait for no events, and none end them. Rejects with
 * LogUnavailable.
 */
export async function startsOfTrigger(
  { postgres, eventLog }: Pick<Platform, 'postgres' | 'eventLog'>,
  ref: JourneyKey,
): Promise<WaitStarts | undefined> {
  const is_watching = await postgres.asTenant(ref.tenant_id, (tx) => watchesEvents(tx, ref));
  return is_watching ? noteWaitStarts(eventLog) : undefined;
}

/**
 * Starts a run for a player within the caller's transaction, ignoring the journey's rules about entering. Rejects
 * with JOURNEY_NOT_FOUND, JOURNEY_INVALID_STATUS (it is not active), PLAYER_NOT_FOUND, or VALIDATION_ERROR for a context
 * that is too large or has a reserved field.
 */
export async function triggerRun(
  tx: Tx,
  { definitions, clock, audit, starts }: TriggerContext,
  ref: JourneyKey,
  { player_id, context: given }: TriggerBody,
): Promise<RunResource> {
  const context = contextOf(given);
  const journey = requireLiveRow(JOURNEY, ref, await selectJourney(tx, ref));
  const { status, version } = journey;
  if (status !== 'active' || version === null) {
    const message = `the journey is ${status}: activate it first, then start runs of it`;
    throw new ApiError('JOURNEY_INVALID_STATUS', message);
  }
  const of = { ...ref, version };
  const loaded = (await definitions.load(tx, [of])).values().next().value;
  if (loaded?.definition === undefined) {
    throw new Error(`version ${version} of the journey ${ref.journey_id} cannot be read`);
  }
  const survivor = await lockLivePlayer(tx, { ...ref, player_id: player_id.toLowerCase() });
  if (survivor === undefined) throw playerNotFound(player_id);
  const now = new Date(clock.now_ms());
  const entrant = { player_id: survivor, trigger_key: newId(), trigger: { kind: 'api' as const }, context };
  const entry = { version: of, definition: loaded.definition, now, is_forced: true, starts };
  const { run_ids, held_out } = await enter(tx, entry, [entrant]);
  const run_id = run_ids[0] ?? held_out[0] ?? '';
  const [row] = await selectRun(tx, { ...ref, run_id });
  const run = runResourceOf(requireRow(RUN, { run_id }, row));
  const { tenant_id, project_id } = ref;
  await audit(tx, { tenant_id, project_id, resource_id: run_id, before: null, after: auditedRunOf(run) });
  return run;
}

/**
 * The context of a run that a caller starts: what was given, and as `trigger_payload` the same unless one was given. Both
 * count for its size.
 * Throws VALIDATION_ERROR, with `path` as that of what was given, when it is too large or has a reserved field.
 */
export function contextOf(given: Record<string, unknown> = {}, path = 'context'): RunContext {
  const reserved = RESERVED.find((key) => Object.hasOwn(given, key));
  if (reserved !== undefined) {
    const message = `is filled by the service: use another name than ${RESERVED.join(' and ')}`;
    throw validationError([{ path: `${path}.${reserved}`, message }]);
  }
  const context = { trigger_payload: given, ...given };
  requireBytes(context, path);
  return context;
}

/** Throws VALIDATION_ERROR for what is larger than a context may be. */
export function requireBytes(given: unknown, path: string, most = MAX_CONTEXT_BYTES): void {
  const bytes = storedBytes(given);
  if (bytes <= most) return;
  const message = `is ${bytes} bytes of JSON (a context counts twice, with its copy as trigger_payload): at most ${most} are allowed`;
  throw validationError([{ path, message }]);
}
