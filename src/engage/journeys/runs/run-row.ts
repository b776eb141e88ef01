import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { RunContext, WokenBy } from './shapes.ts';

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

/** The key of a version of a journey. */
export interface VersionRef extends ProjectRef {
  journey_id: string;
  version: number;
}

/** The text that identifies a version in maps. */
export function versionKey({ journey_id, version }: Pick<VersionRef, 'journey_id' | 'version'>): string {
  return `${journey_id} ${version}`;
}
