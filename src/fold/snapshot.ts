import { betKindOf, claimOf, type BetKind, type LedgerRow } from '../money/ledger.ts';
import { identityOf, type FoldEvent } from './fold-event.ts';

/** What Postgres knew of a batch's players, claims and bets when the transaction read it. */
export interface Snapshot {
  /** identity key → player_id, for the identities that exist. */
  players: Map<string, string>;
  /** reference key → all ledger rows of that transaction_id or bet_id. */
  ledger: Map<string, LedgerRow[]>;
  /** bet key → revision, for the bets that exist. */
  betRevisions: Map<string, number>;
  /** tenant_id → base currency. */
  baseCurrencies: Map<string, string>;
}

/** What has to be read to decide a batch, each thing once. */
export interface SnapshotRequest {
  anonymous: { tenant_id: string; project_id: string; id: string }[];
  players: { tenant_id: string; project_id: string; id: string }[];
  references: { tenant_id: string; project_id: string; reference: string }[];
  bets: { tenant_id: string; project_id: string; kind: BetKind; bet_id: string }[];
  tenants: string[];
}

export function referenceKey(project_id: string, reference: string): string {
  return `${project_id}:${reference}`;
}

export function betKey(project_id: string, kind: BetKind, bet_id: string): string {
  return `${project_id}:${kind}:${bet_id}`;
}

/** Lists what a batch needs, sorted nowhere and repeated nowhere. */
export function requestFor(events: readonly FoldEvent[]): SnapshotRequest {
  const seen = new Set<string>();
  const first = (key: string) => !seen.has(key) && seen.add(key) !== undefined;
  const request: SnapshotRequest = { anonymous: [], players: [], references: [], bets: [], tenants: [] };
  for (const event of events) {
    const { tenant_id, project_id, event: body } = event.accepted;
    const identity = identityOf(event);
    if (first(`identity ${identity.key}`)) {
      const list = identity.kind === 'player' ? request.players : request.anonymous;
      list.push({ tenant_id, project_id, id: identity.id });
    }
    if (first(`tenant ${tenant_id}`)) request.tenants.push(tenant_id);
    const claim = claimOf(body.event, event.properties, event.occurred_at_ms);
    if (claim === undefined) continue;
    if (first(`reference ${referenceKey(project_id, claim.reference)}`)) {
      request.references.push({ tenant_id, project_id, reference: claim.reference });
    }
    const kind = betKindOf(claim.event);
    if (kind !== undefined && first(`bet ${betKey(project_id, kind, claim.reference)}`)) {
      request.bets.push({ tenant_id, project_id, kind, bet_id: claim.reference });
    }
  }
  return request;
}
