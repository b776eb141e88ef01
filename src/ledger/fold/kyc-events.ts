import { v5 as uuidv5 } from 'uuid';
import { MAX_KYC_LEVEL } from '../../ingest/events/catalogue.ts';
import { parseDateOrTime } from '../../platform/timestamp.ts';
import {
  decide,
  lapseOf,
  orderedAt,
  relevantOf,
  saysTheSame,
  mayEventsDecide,
} from '../../protection/kyc/decide.ts';
import type {
  KnownKyc,
  KycChange,
  NewDecision,
  StoredDecision,
} from '../../protection/kyc/decision-queries.ts';
import { kycKindOf, type FoldEvent } from './fold-event.ts';
import type { Snapshot } from './snapshot.ts';

/** The UUID v5 namespace in which the id of an event gives the id of its decision. */
const NAMESPACE = 'b9a0f3f0-3e55-4d0c-9d8c-7a4f2f1f7a11';

const UNKNOWN: KnownKyc = { revision: 0, decisions: [] };

/**
 * What the kyc_* events of a batch do (bonuses part 8): they set the status only where the tenant's model lets the
 * platform decide; otherwise they are in the timeline alone. An event that says what is known already adds nothing.
 */
export class KycOfBatch {
  readonly #snapshot: Pick<Snapshot, 'projects' | 'kyc'>;
  readonly #changes = new Map<string, KycChange>();
  /** What is known of the players of the batch's events, these included. */
  readonly #known = new Map<string, readonly StoredDecision[]>();

  constructor(snapshot: Pick<Snapshot, 'projects' | 'kyc'>) {
    this.#snapshot = snapshot;
  }

  take({ accepted, properties, occurred_at_ms }: FoldEvent, player_id: string): void {
    const kind = kycKindOf(accepted.event.event);
    if (kind === undefined) return;
    const { tenant_id, project_id, ingestion_id, index, received_at_ms } = accepted;
    const at_ms = orderedAt(occurred_at_ms, received_at_ms);
    const owner = this.#snapshot.projects.get(project_id);
    if (owner === undefined || !mayEventsDecide(owner.kyc_model)) return;
    const decision: NewDecision = {
      decision_id: uuidv5(`${ingestion_id}:${index}`, NAMESPACE),
      source: 'event',
      kind,
      at_ms,
      received_at_ms,
      level: levelOf(properties['level']),
      expires_at_ms: endOf(properties['expires_at'], Math.min(at_ms, received_at_ms)),
      decided_by: null,
    };
    const { revision, decisions: stored } = this.#snapshot.kyc.get(player_id) ?? UNKNOWN;
    const known = this.#known.get(player_id) ?? stored;
    if (known.some((one) => saysTheSame(one, decision))) return;
    const { applied, state } = decide(known, decision);
    this.#known.set(player_id, relevantOf([...known, decision]));
    let change = this.#changes.get(player_id);
    if (change === undefined) {
      change = { tenant_id, project_id, player_id, revision, state, decisions: [] };
      this.#changes.set(player_id, change);
    }
    change.state = state;
    change.decisions.push({ ...decision, applied, status: state.status });
  }

  /** The players' new KYC. An approval that was over when the last of its player's events was received is ended. */
  changes(): KycChange[] {
    for (const change of this.#changes.values()) this.#end(change);
    return [...this.#changes.values()];
  }

  #end(change: KycChange): void {
    const { player_id, decisions } = change;
    const last = decisions.at(-1);
    const received_at_ms = Math.max(...decisions.map((one) => one.received_at_ms));
    const end = lapseOf(change.state, received_at_ms);
    if (last === undefined || end === undefined) return;
    const { state } = decide<StoredDecision>(this.#known.get(player_id) ?? [], { ...end, decided_by: null });
    change.state = state;
    change.decisions.push({
      ...end,
      decision_id: uuidv5(`${last.decision_id}:lapsed`, NAMESPACE),
      source: 'clock',
      received_at_ms,
      decided_by: null,
      event: 'kyc_expired',
      applied: true,
      status: state.status,
    });
  }
}

function levelOf(value: unknown): number | null {
  const is_level = Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_KYC_LEVEL;
  return is_level ? (value as number) : null;
}

/** An end that cannot be read gives no right: the approval is over at `at_ms`. Intake refuses such a value. */
function endOf(value: unknown, at_ms: number): number | null {
  if (value === undefined || value === null) return null;
  return (typeof value === 'string' ? parseDateOrTime(value) : undefined) ?? at_ms;
}
