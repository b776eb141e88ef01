import { textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import { WriteConflict } from '../../platform/postgres/retry.ts';
import { KYC_KINDS, MAX_RELEVANT, type KycDecision, type KycState, type KycStatus } from './decide.ts';

interface Ref extends ProjectRef {
  player_id: string;
}

/** Where a statement came from. */
export type KycSource = 'api' | 'webhook' | 'event' | 'clock';

/** A statement as it is stored; those that were read have the fields of {@link KycDecision} only. */
export interface StoredDecision extends KycDecision {
  /** The user who made it; null: no user did. */
  decided_by: string | null;
}

/** A statement to store. */
export interface NewDecision extends StoredDecision {
  decision_id: string;
  source: KycSource;
  received_at_ms: number;
  adapter_slug?: string;
  reason?: string | null;
  requirements?: readonly string[] | null;
  /** The event for the log; absent: none. */
  event?: string;
}

/** What was known of a player's KYC. */
export interface KnownKyc {
  /** Of the player's row, for compare-and-set. */
  revision: number;
  decisions: readonly StoredDecision[];
}

/** A player's new KYC, and the statements from which it follows that are not stored yet. */
export interface KycChange extends Ref {
  /** The revision that was read. */
  revision: number;
  state: KycState<StoredDecision>;
  decisions: (NewDecision & { applied: boolean; status: KycStatus })[];
}

/**
 * What is known of the players' KYC, by player_id, as far as it can matter (`relevantOf`); no entry for a player that the
 * project does not have.
 */
export async function readKyc(tx: Tx, refs: readonly Ref[]): Promise<Map<string, KnownKyc>> {
  if (refs.length === 0) return new Map();
  type Compact = [KycDecision['kind'], number, number | null, number | null, string | null];
  const ofPlayer = tx`d.player_id = r.player_id and d.tenant_id = r.tenant_id and d.project_id = r.project_id`;
  const said = tx`
    select d.kind, d.occurred_at, d.level, d.expires_at, d.decided_by from kyc_decisions d where ${ofPlayer}`;
  // The order of decide.ts, the last first: so of one time nothing is cut off but what is better for the player.
  const latest = tx`
    order by d.occurred_at desc, array_position(${textArray(KYC_KINDS)}::text::text[], d.kind) desc,
      d.level nulls first, d.expires_at nulls last`;
  const rows = await tx<{ player_id: string; revision: number; decisions: Compact[] }[]>`
    select r.player_id, p.kyc_revision as revision, coalesce(d.decisions, '[]') as decisions
    from ${rowsOf(tx, 'r', refs, { ...PROJECT_KEY, player_id: 'uuid' })}
    cross join lateral (
      select p.kyc_revision from players p where p.tenant_id = r.tenant_id and p.project_id = r.project_id
        and p.player_id = r.player_id offset 0) p
    left join lateral (
      select occurred_at from kyc_decisions d where ${ofPlayer} and d.kind = 'approved' and d.level is not null
      order by occurred_at desc limit 1) a on true
    left join lateral (
      select jsonb_agg(jsonb_build_array(kind, epoch_ms(occurred_at), level, epoch_ms(expires_at), decided_by)) as decisions
      from (
        (${said} and d.kind = 'approved' and d.level is not null and d.occurred_at = a.occurred_at
          ${latest} limit 1)
        union all
        (${said} and d.kind <> 'submitted' and d.occurred_at >= coalesce(a.occurred_at, '-infinity')
          ${latest} limit ${MAX_RELEVANT + 1})
        union all
        (${said} and d.kind = 'submitted' and d.occurred_at >= coalesce(a.occurred_at, '-infinity')
          ${latest} limit 1)) d) d on true`;
  return new Map(
    rows.map(({ player_id, revision, decisions }) => [
      player_id,
      {
        revision,
        decisions: decisions.map(([kind, at_ms, level, expires_at_ms, decided_by]) => ({
          kind,
          at_ms,
          level,
          expires_at_ms,
          decided_by,
        })),
      },
    ]),
  );
}

/**
 * Writes the players' KYC and its new statements; the statements are sent in one round trip. Rejects with
 * {@link WriteConflict} when a player's KYC was written since it was read. `player_totals` has to be marked as changed
 * by the caller.
 */
export async function writeKyc(tx: Tx, changes: readonly KycChange[], now_ms: number): Promise<void> {
  if (changes.length === 0) return;
  const sorted = changes.toSorted((a, b) => (a.player_id < b.player_id ? -1 : 1));
  const rows = sorted.map(({ tenant_id, project_id, player_id, revision, state }) => ({
    tenant_id,
    project_id,
    player_id,
    revision,
    status: state.status,
    level: state.level,
    requested_level: state.requested_level,
    expires_at: timeOf(state.expires_at_ms),
    decided_at: timeOf(state.last?.at_ms ?? null),
    decided_by: state.last?.decided_by ?? null,
  }));
  const [updated] = await Promise.all([
    tx`
      update players p set
        kyc_status = r.status, kyc_level = r.level, kyc_requested_level = r.requested_level,
        kyc_expires_at = r.expires_at, kyc_status_at = r.decided_at, kyc_decided_by = r.decided_by,
        kyc_revision = p.kyc_revision + 1, updated_at = ${new Date(now_ms)}
      from (
        select p.ctid, r.* from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as r (
          tenant_id uuid, project_id uuid, player_id uuid, revision integer, status text, level integer,
          requested_level integer, expires_at timestamptz, decided_at timestamptz, decided_by text)
        cross join lateral (
          select p.ctid from players p where p.tenant_id = r.tenant_id and p.project_id = r.project_id
            and p.player_id = r.player_id and p.kyc_revision = r.revision offset 0) p) r
      where p.ctid = r.ctid and p.kyc_revision = r.revision and p.player_id = r.player_id
        and p.tenant_id = r.tenant_id and p.project_id = r.project_id`,
    insertDecisions(tx, sorted),
  ]);
  if (updated.count !== rows.length) throw new WriteConflict('the KYC of a player was changed');
}

async function insertDecisions(tx: Tx, changes: readonly KycChange[]): Promise<void> {
  const rows = changes.flatMap(({ tenant_id, project_id, player_id, decisions }) =>
    decisions.map(({ at_ms, received_at_ms, expires_at_ms, status, event, ...rest }) => ({
      ...rest,
      tenant_id,
      project_id,
      player_id,
      occurred_at: timeOf(at_ms),
      received_at: timeOf(received_at_ms),
      expires_at: timeOf(expires_at_ms),
      kyc_status: status,
      event: event ?? null,
    })),
  );
  if (rows.length === 0) return;
  await tx`
    insert into kyc_decisions (tenant_id, project_id, player_id, decision_id, kind, source, occurred_at, received_at, level,
      expires_at, applied, kyc_status, decided_by, adapter_slug, reason, requirements, event, is_unpublished)
    select r.tenant_id, r.project_id, r.player_id, r.decision_id, r.kind, r.source, r.occurred_at, r.received_at, r.level,
      r.expires_at, r.applied, r.kyc_status, r.decided_by, r.adapter_slug, r.reason, r.requirements, r.event,
      r.event is not null
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as r (
      tenant_id uuid, project_id uuid, player_id uuid, decision_id uuid, kind text, source text, occurred_at timestamptz,
      received_at timestamptz, level integer, expires_at timestamptz, applied boolean, kyc_status text, decided_by text,
      adapter_slug text, reason text, requirements text[], event text)
    on conflict (decision_id, tenant_id, project_id) do nothing`;
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** Marks the player as changed for player-mirror. */
export async function markChanged(tx: Tx, { tenant_id, project_id, player_id }: Ref): Promise<void> {
  await tx`
    update player_totals set changed_xid = pg_current_xact_id()
    where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}`;
}
