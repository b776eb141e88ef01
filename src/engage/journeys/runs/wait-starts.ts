import { setTimeout as sleep } from 'node:timers/promises';
import { playerKey } from '../../../ingest/events/envelope.ts';
import { LogUnavailable, type EventLog } from '../../../platform/event-log/port.ts';
import { TOPICS } from '../../../platform/event-log/topics.ts';
import type { Platform } from '../../../platform/platform.ts';
import { retryPauseMs } from '../../../platform/retry-pause.ts';
import type { Definition } from '../graph/shapes.ts';

/** Where in the log of resolved events the events of a player begin to count. */
export interface WaitStart {
  partition: number;
  log_id: string;
  from_offset: bigint;
}

/** The end of the log of resolved events at one moment: what a run that begins to wait later waits for lies behind it. */
export interface WaitStarts {
  of(player: { project_id: string; player_id: string }): WaitStart;
}

/** Notes where the log ends now. */
export async function noteWaitStarts(
  eventLog: Pick<EventLog, 'idOf' | 'endOffsets' | 'partitionOf'>,
): Promise<WaitStarts> {
  const [log_id, ends] = await Promise.all([
    eventLog.idOf(TOPICS.playerEvents),
    eventLog.endOffsets(TOPICS.playerEvents),
  ]);
  return {
    of({ project_id, player_id }) {
      const partition = eventLog.partitionOf(playerKey(project_id, player_id), ends.size);
      return { partition, log_id, from_offset: ends.get(partition) ?? 0n };
    },
  };
}

/** What a transaction needs was not noted before it: where the log ends. */
export class StartsMissing extends Error {
  override readonly name = 'StartsMissing';

  constructor() {
    super('the ends of the log are not known');
  }
}

/** Whether events end runs of the definition: by `exit_on`, or as its goal. */
export function endsByEvent({ settings: { exit_on, goal } }: Definition): boolean {
  return goal?.exit === true || exit_on.some((rule) => 'event' in rule);
}

/** Whether events matter to runs of the definition, so that they begin from a place on the log. */
export function countsEvents(definition: Definition): boolean {
  const nodes = [...definition.graph.nodes.values()];
  return endsByEvent(definition) || nodes.some(({ type }) => type === 'wait_for_event');
}

/** For how long work waits for the log, and for how long it goes on without, at first and at most. */
const NOTING_MS = 3_000;
const PAUSES = { first_ms: 2_000, longest_ms: 30_000 };

/**
 * Notes where the log ends, before each transaction from when on one has needed it. A log that does not answer stops only
 * what needs it: meanwhile the others go on without.
 */
export class StartNotes {
  readonly #deps: Pick<Platform, 'eventLog' | 'logger'>;
  #is_needed = false;
  #failures = 0;
  #again_ms = 0;

  constructor(deps: Pick<Platform, 'eventLog' | 'logger'>) {
    this.#deps = deps;
  }

  /** Some transaction needs them that was begun without; returns whether `take` may have them when it is begun again. */
  need(): boolean {
    this.#is_needed = true;
    return performance.now() >= this.#again_ms;
  }

  /** Undefined: nothing has needed them yet, or the log does not answer. */
  async take(): Promise<WaitStarts | undefined> {
    if (!this.#is_needed || performance.now() < this.#again_ms) return undefined;
    const { eventLog, logger } = this.#deps;
    const given_up = new AbortController();
    try {
      const late = sleep(NOTING_MS, undefined, { signal: given_up.signal }).then(() => {
        throw new LogUnavailable(`the log has not answered for ${NOTING_MS} ms`);
      });
      const starts = await Promise.race([noteWaitStarts(eventLog), late]);
      this.#failures = 0;
      return starts;
    } catch (err) {
      this.#again_ms = performance.now() + retryPauseMs(PAUSES, { attempt: ++this.#failures });
      logger.warn(
        { err },
        'the log does not say where it ends: runs that are to wait for events wait for that',
      );
      return undefined;
    } finally {
      given_up.abort();
    }
  }
}
