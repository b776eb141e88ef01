import { v5 as uuidv5 } from 'uuid';
import type { JourneySendState } from '../../messaging/journey-send-queries.ts';
import type { RunRow, StoredStep } from './read-queries.ts';

/** The run resource (spec part 2, "Journey run"). */
export function runResourceOf(row: RunRow) {
  return {
    run_id: row.run_id,
    journey_id: row.journey_id,
    journey_version: row.version,
    player_id: row.player_id,
    status: row.status,
    current_node_id: row.node_id,
    started_at: row.started_at,
    completed_at: row.completed_at,
    due_at: row.status === 'running' ? row.due_at : null,
    context: row.context,
    trigger: row.trigger,
    outcome: row.outcome,
    error_code: row.error_code,
    cancelled_by: row.cancelled_by,
  };
}
export type RunResource = ReturnType<typeof runResourceOf>;

/** A run as the audit log keeps it: without its context, which is data of the player. */
export function auditedRunOf({ context: _context, ...run }: RunResource) {
  return run;
}

/** The steps of a run in their order; the node on which it stands is the last one. */
export function historyOf(
  run: RunRow,
  steps: readonly StoredStep[],
  sends: readonly JourneySendState[],
  node_type: string | undefined,
) {
  const send_of = new Map(sends.map((send) => [send.node_id, send]));
  const done = steps.map((step) => ({ ...stepOf(step), ...refsOf(run, step, send_of.get(step.node_id)) }));
  if (run.status !== 'running') return done;
  return [
    ...done,
    {
      seq: run.seq,
      node_id: run.node_id,
      node_type: node_type ?? null,
      status: 'waiting' as const,
      entered_at: run.entered_at,
      completed_at: null,
      outcome: null,
      next_node_id: null,
      due_at: run.due_at,
      error_code: null,
      ...(node_type === 'call_webhook' ? { webhook_event_id: eventIdOf(run, run.node_id) } : {}),
    },
  ];
}

function stepOf({ ref: _ref, ...step }: StoredStep) {
  return step;
}

/** The message, webhook or grant of a step. A message that the gate has skipped says why in the step. */
function refsOf(
  run: RunRow,
  { node_type, node_id, status, error_code, ref }: StoredStep,
  send: JourneySendState | undefined,
) {
  if (node_type === 'send_message') {
    if (send === undefined) return {};
    const { send_id, status: message_status } = send;
    return { message_send_id: send_id, message_status, error_code: error_code ?? send.error_code };
  }
  // The step is written when the answer is there, so it does not say which call it was; run and node do.
  if (node_type === 'call_webhook') {
    return status === 'skipped' ? {} : { webhook_event_id: ref ?? eventIdOf(run, node_id) };
  }
  return ref === null ? {} : { grant_id: ref };
}

function eventIdOf({ run_id }: RunRow, node_id: string): string {
  return uuidv5(node_id, run_id);
}
