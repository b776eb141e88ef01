import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { RunContext, WokenBy } from './shapes.ts';
import type { WaitStart } from './wait-starts.ts';

/** Bytes of a run's context as JSON. */
export const MAX_CONTEXT_BYTES = 16_384;

/** The key of a run. */
export interface RunRef extends ProjectRef {
  run_id: string;
}

export type RunStatus = 'running' | 'completed' | 'failed' | 'cancelled';
export type RunOutcome = 'ended' | 'exited' | 'goal' | 'held_out';

/** What started a run. */
export interface RunTrigger {
  kind: 'event' | 'segment_entered' | 'segment_exited' | 'schedule' | 'api';
  event?: string;
  ingestion_id?: string;
}

/** A running run, as Postgres has it. */
export interface RunningRow extends RunRef {
  journey_id: string;
  version: number;
  player_id: string;
  node_id: string;
  seq: number;
  /** Null: the node is not entered yet. */
  entered_at: Date | null;
  due_at: Date | null;
  woken_by: WokenBy | null;
  context: RunContext;
  started_at: Date;
  /** From where on the log the player's events are later than the start; null: by time. */
  partition: number | null;
  log_id: string | null;
  from_offset: bigint | null;
}

/** The place on the log behind the event that woke the run, and after which it has waited for nothing but rates; undefined: none has. */
export function placeBehind({ woken_by }: Pick<RunningRow, 'woken_by'>): WaitStart | undefined {
  if (woken_by === null || woken_by.kind === 'delivery' || woken_by.behind === undefined) return undefined;
  const { partition, log_id, from_offset } = woken_by.behind;
  return { partition, log_id, from_offset: BigInt(from_offset) };
}

/** The place on the log behind the event that started the run; undefined: times decide. */
export function placeOfStart({
  partition,
  log_id,
  from_offset,
}: Pick<RunningRow, 'partition' | 'log_id' | 'from_offset'>): WaitStart | undefined {
  if (partition === null || log_id === null || from_offset === null) return undefined;
  return { partition, log_id, from_offset };
}

/** From where a wait counts that the run enters on this walk; undefined: from the present end of the log. */
export function placeOfWait(run: RunningRow): WaitStart | undefined {
  const is_first_walk = run.entered_at === null && run.seq === 1;
  return placeBehind(run) ?? (is_first_walk ? placeOfStart(run) : undefined);
}

/** The key of a version of a journey. */
export interface VersionRef extends ProjectRef {
  journey_id: string;
  version: number;
}

/** The text that identifies a version in maps. */
export function versionKey({ journey_id, version }: Pick<VersionRef, 'journey_id' | 'version'>): string {
  return `${journey_id} ${version}`;
}
