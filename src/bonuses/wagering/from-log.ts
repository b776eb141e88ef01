import { ApiError } from '../../errors.ts';
import { groupByEvent, headOf, type PlayerEvent } from '../../ingest/events/envelope.ts';
import { referenceKey } from '../../ledger/fold/fold-event.ts';
import { readLedger } from '../../ledger/fold/read-queries.ts';
import { betKindOf, type BetKind } from '../../ledger/money/ledger.ts';
import type { LogRecord } from '../../platform/event-log/port.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { isDataError, retryConflicts } from '../../platform/postgres/retry.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../platform/platform.ts';
import { countBets, MAX_BETS, type BetReport } from './count.ts';
import { selectCandidates, selectProjectsWithGrants, type BetName } from './count-queries.ts';
import { ledgerBet } from './ledger-bet.ts';

/** Bets of one transaction. */
const BETS_AT_ONCE = Math.min(MAX_BETS, 500);

/** For how long after a bet counted its outcome may change. */
const OPEN_MS = 90 * 86_400_000;

/** A bet that events name, with the categories that they give. */
export interface NamedBet extends BetName {
  /** By event. */
  categories: Map<string, string>;
}

/** The parts of the platform that counting uses. */
export type CountDeps = Pick<Platform, 'postgres' | 'clock' | 'logger' | 'metrics'>;

/**
 * Counts the bets of records of `player-events`. What a bet is comes from the ledger, which has every event before it is
 * on this topic; the events only say which bets have changed, and their category. Handling a batch again changes nothing.
 * Without grants in the projects of the batch it costs one query. Bets that cannot be counted are omitted, and the error
 * of one project, with which it rejects, comes after the others were counted.
 */
export async function countBatch(deps: CountDeps, records: readonly LogRecord[]): Promise<void> {
  const { service } = deps.postgres;
  const errors: unknown[] = [];
  for (const { project, events } of await betsOf(service, records)) {
    try {
      const bets = await namedBets(service, project, events);
      for (let from = 0; from < bets.length; from += BETS_AT_ONCE)
        await countIsolated(deps, project, bets.slice(from, from + BETS_AT_ONCE));
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/**
 * Counts bets of a project by what the ledger has of them now, at most {@link MAX_BETS}. A bet that can never be counted
 * is omitted: by halves it is found, and the others are counted.
 */
export async function countIsolated(
  deps: CountDeps,
  project: ProjectRef,
  bets: readonly NamedBet[],
): Promise<void> {
  await isolated(deps, project, bets, (part) => countNamed(deps, project, part));
}

/** Does the work for all bets, or by halves for those with which it can be done. Rejects when a retry may succeed. */
export async function isolated<Bet extends BetName>(
  { logger, metrics }: Pick<CountDeps, 'logger' | 'metrics'>,
  project: ProjectRef,
  bets: readonly Bet[],
  work: (part: readonly Bet[]) => Promise<void>,
): Promise<void> {
  const parts = [bets];
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    try {
      await work(part);
    } catch (error) {
      if (!isWrongData(error)) throw error;
      const [first] = part;
      if (first === undefined) throw error;
      if (part.length > 1) {
        const half = part.length >> 1;
        parts.push(part.slice(half), part.slice(0, half));
        continue;
      }
      metrics.wageringRefused.inc();
      const { tenant_id, project_id } = project;
      const { kind, bet_id } = first;
      logger.error(
        { err: error, tenant_id, project_id, kind, bet_id },
        'a bet cannot be counted for bonuses and is omitted',
      );
    }
  }
}

/** Whether the bets or their grants are wrong, or the code is: trying again cannot help. */
function isWrongData(error: unknown): boolean {
  return (
    isDataError(error) ||
    error instanceof RangeError ||
    error instanceof TypeError ||
    error instanceof SyntaxError ||
    (error instanceof ApiError && error.status < 500)
  );
}

async function countNamed(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  project: ProjectRef,
  bets: readonly NamedBet[],
): Promise<void> {
  const reports = await postgres.service.begin((tx) => reportsOf(tx, project, bets));
  const now = new Date(clock.now_ms());
  await retryConflicts(() => postgres.service.begin((tx) => countBets(tx, project, reports, now)));
}

/** The records of bets in projects that have grants, by project. */
async function betsOf(
  sql: Tx,
  records: readonly LogRecord[],
): Promise<{ project: ProjectRef; events: LogRecord[] }[]> {
  const projects = new Map<string, { project: ProjectRef; events: LogRecord[] }>();
  for (const { name, places } of groupByEvent(records)) {
    if (betKindOf(name.event) === undefined) continue;
    const { tenant_id, project_id } = name;
    const one = projects.get(project_id) ?? { project: { tenant_id, project_id }, events: [] };
    projects.set(project_id, one);
    for (const place of places) {
      const record = records[place];
      if (record !== undefined) one.events.push(record);
    }
  }
  if (projects.size === 0) return [];
  const all = [...projects.values()];
  const with_grants = await selectProjectsWithGrants(
    sql,
    all.map(({ project }) => project),
  );
  return all.filter(({ project }) => with_grants.has(project.project_id));
}

/** The bets of players who have grants. */
async function namedBets(sql: Tx, project: ProjectRef, events: readonly LogRecord[]): Promise<NamedBet[]> {
  const players = new Map<string, number>();
  for (const { value } of events) {
    const player_id = headOf(value)?.player_id;
    if (player_id === undefined) continue;
    // The service writes its own fields before those of the caller, so the first match is the service's.
    const since_ms = Number(/"occurred_at":(-?\d+)/.exec(value)?.[1] ?? 0) - OPEN_MS;
    players.set(player_id, Math.min(players.get(player_id) ?? since_ms, since_ms));
  }
  const looked_up = [...players].map(([player_id, since_ms]) => ({ player_id, since_ms }));
  const candidates = await selectCandidates(sql, project, looked_up);
  if (candidates.length === 0) return [];
  const with_grants = new Set(candidates.map(({ named_id }) => named_id));
  const bets = new Map<string, NamedBet>();
  for (const { value } of events) {
    if (!with_grants.has(headOf(value)?.player_id ?? '')) continue;
    const { event, properties } = eventOf(value);
    addBet(bets, event, properties['bet_id'], properties['game_category']);
  }
  return [...bets.values()];
}

/** What a record says; nothing when it is not an event. */
function eventOf(value: string): Pick<PlayerEvent, 'event' | 'properties'> {
  try {
    return JSON.parse(value) as PlayerEvent;
  } catch {
    return { event: '', properties: {} };
  }
}

/** Adds the bet that an event names, with its category. */
export function addBet(bets: Map<string, NamedBet>, event: string, bet_id: unknown, category: unknown): void {
  const kind = betKindOf(event);
  if (kind === undefined || typeof bet_id !== 'string') return;
  const bet = bets.get(`${kind} ${bet_id}`) ?? { kind, bet_id, categories: new Map<string, string>() };
  bets.set(`${kind} ${bet_id}`, bet);
  if (typeof category === 'string') bet.categories.set(event, category);
}

/** The bets as the ledger has them. Rows are only added, so a later state of a bet has more of them: its revision. */
async function reportsOf(tx: Tx, project: ProjectRef, bets: readonly NamedBet[]): Promise<BetReport[]> {
  const references = [...new Set(bets.map(({ bet_id }) => bet_id))];
  const ledger = await readLedger(
    tx,
    references.map((reference) => ({ ...project, reference })),
  );
  return bets.flatMap(({ kind, bet_id, categories }): BetReport[] => {
    const rows = (ledger.get(referenceKey(project.project_id, bet_id)) ?? []).filter(isOf(kind));
    const bet = rows.length === 0 ? undefined : ledgerBet(kind, rows);
    // A sport bet that was only placed counts nothing yet; one that was reopened has lost what it counted.
    if (bet === undefined || rows.every(({ event }) => event === 'sport_bet_placed')) return [];
    const { counted_event, ...state } = bet;
    return [
      {
        ...state,
        bet_id,
        revision: BigInt(rows.length),
        is_of_ledger: true,
        game_category: kind === 'sport' ? null : (categories.get(counted_event) ?? null),
      },
    ];
  });
}

const isOf =
  (kind: BetKind) =>
  ({ event }: { event: string }) =>
    betKindOf(event) === kind;
