import { z } from 'zod';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../../http/endpoint.ts';
import { roleAllows } from '../../http/auth/roles.ts';
import { envelopeOfText } from '../../http/envelope.ts';
import { listOf, readPage, type PageQuery } from '../../http/keyset-page.ts';
import { requirePlayer, requireUuid } from '../profile/read.ts';
import { localDate } from '../../platform/local-intervals.ts';
import { reportingZone } from '../../tenants/config/read.ts';
import { entryOf, auditLogEntry } from '../../tenants/audit/schema.ts';
import {
  listPlayerAudit,
  lastDays,
  findTimeline,
  sumDepositsByDay,
  type TimelineRow,
  POSITION_SHAPE,
  positionOf,
  type HistoryDeps,
  type TimelinePosition,
} from './queries.ts';
import { ledgerPage } from './ledger.ts';
import { depositsOfDay, ledgerEntry, playerPageQuery, timelineEntry, timelineQuery } from './schema.ts';
import { JsonText, exactJson } from '../../platform/exact-json.ts';
import { fitsPage } from '../../analytics/page-bytes-queries.ts';
import { sentJson } from '../../analytics/stored-json.ts';

/** A player's timeline and daily deposits, read from ClickHouse (spec part 4), its money and who changed it. */
export function playerHistoryEndpoints(deps: HistoryDeps): AnyEndpoint[] {
  const shared = {
    method: 'GET',
    access: { mode: 'session', role: 'viewer', scope: 'project' },
    errors: ['PLAYER_NOT_FOUND'],
  } as const;
  return [
    endpoint({
      ...shared,
      path: '/v1/players/:id/timeline',
      summary: "A player's events, or those of some names, the newest first by event time",
      query: timelineQuery,
      response: z.array(timelineEntry),
      shape: 'list',
      handle: ({ caller, params, query }) => timelinePage(deps, caller, params['id'] ?? '', query),
    }),
    endpoint({
      ...shared,
      path: '/v1/players/:id/deposits-daily',
      summary:
        'Confirmed deposits of the last 30 days of the reporting time zone in the base currency, gross; days without are 0',
      response: z.array(depositsOfDay),
      handle: ({ caller, params }) => depositSeries(deps, caller, params['id'] ?? ''),
    }),
    endpoint({
      ...shared,
      path: '/v1/players/:id/ledger',
      summary: 'The ledger rows of the money events of a player, the newest first by event time',
      query: playerPageQuery,
      response: z.array(ledgerEntry),
      shape: 'list',
      handle: ({ caller, params, query }) => ledgerPage(deps, caller, params['id'] ?? '', query),
    }),
    endpoint({
      ...shared,
      path: '/v1/players/:id/audit',
      summary:
        'Changes of a player and of players merged into that player, with their actors, the newest first',
      query: playerPageQuery,
      response: z.array(auditLogEntry),
      shape: 'list',
      handle: ({ caller, params, query }) => auditPage(deps, caller, params['id'] ?? '', query),
    }),
  ];
}

async function timelinePage(
  deps: HistoryDeps,
  { tenant_id, project_id }: ProjectSession,
  player_id: string,
  { cursor, limit, events }: z.infer<typeof timelineQuery>,
): Promise<string> {
  const ref = { tenant_id, project_id, player_id };
  const { rows, next_cursor } = await readPage<TimelineRow, TimelinePosition>(
    {
      scope: { kind: 'timeline', project_id, filters: { player_id, events: events?.join(',') } },
      shape: POSITION_SHAPE,
      positionOf,
      fits: fitsPage,
      select: (after, count) =>
        ofPlayer(deps, ref, (ids) =>
          findTimeline(deps.clickhouse, { tenant_id, project_id, ...ids }, after, count, events),
        ),
    },
    { cursor, limit },
  );
  return envelopeOfText(`[${rows.map(entryJson).join(',')}]`, { next_cursor });
}

async function auditPage(
  { postgres }: HistoryDeps,
  { tenant_id, project_id, role }: ProjectSession,
  id: string,
  page: PageQuery,
): Promise<string> {
  const { player_id } = await requirePlayer(postgres, { tenant_id, project_id, player_id: id });
  const ref = { tenant_id, project_id, player_id };
  return listOf(postgres, ref, page, {
    kind: 'player-audit',
    bound: { player_id },
    select: (tx, after, limit) => listPlayerAudit(tx, ref, after, limit),
    positionOf: (row) => [row.occurred_us, row.audit_id],
    show: (row) => (roleAllows(role, 'compliance') ? entryOf(row) : withoutNotes(entryOf(row))),
  });
}

type AuditEntry = ReturnType<typeof entryOf>;

/** The actions whose entries have a note of an officer. */
const NOTED: ReadonlySet<string> = new Set(['resolve', 'reveal', 'exclude', 'lift']);

/** What officers note about a player is for those who read the audit log: it may be a suspicion. */
function withoutNotes(entry: AuditEntry): AuditEntry {
  if (!NOTED.has(entry.action)) return entry;
  const { note: _note, reason: _reason, ...after } = entry.after ?? {};
  return { ...entry, after };
}

/** ClickHouse has the properties as JSON text, which is not parsed unless numbers in it have to be written as sent. */
function entryJson({ ingestion_id, event, occurred_ms, properties }: TimelineRow): string {
  const timestamp = new Date(Number(occurred_ms)).toISOString();
  const written = new JsonText(properties === '' ? '{}' : sentJson(properties));
  return exactJson({ ingestion_id, event, timestamp, properties: written });
}

async function depositSeries(
  deps: HistoryDeps,
  { tenant_id, project_id }: ProjectSession,
  player_id: string,
): Promise<string> {
  const ref = { tenant_id, project_id, player_id };
  const zone = await reportingZone(deps.postgres, tenant_id);
  const days = lastDays(deps.clock.now_ms(), zone);
  const rows = await ofPlayer(deps, ref, (ids) =>
    sumDepositsByDay(deps.clickhouse, { tenant_id, project_id, ...ids }, days),
  );
  const amounts = new Map(rows.map(({ start_ms, amount }) => [start_ms, amount]));
  const series = days.starts_ms.map((start_ms) => ({
    date: localDate(zone, start_ms),
    amount: new JsonText(amounts.get(String(start_ms)) ?? '0'),
  }));
  return envelopeOfText(exactJson(series));
}

/**
 * Reads the player from Postgres and runs `ask` with the given id at the same time. When the player's events have other
 * ids, it runs `ask` again with those. Rejects with PLAYER_NOT_FOUND when the project has no such player.
 */
async function ofPlayer<T>(
  { postgres }: HistoryDeps,
  ref: { tenant_id: string; project_id: string; player_id: string },
  ask: (ids: { event_player_ids: string[] }) => Promise<T>,
): Promise<T> {
  requireUuid(ref);
  const given = ref.player_id.toLowerCase();
  const [answer, { event_player_ids }] = await Promise.all([
    ask({ event_player_ids: [given] }),
    requirePlayer(postgres, ref),
  ]);
  return event_player_ids.length === 1 && event_player_ids[0] === given ? answer : ask({ event_player_ids });
}
