import { z } from 'zod';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../../http/endpoint.ts';
import { envelopeOfText } from '../../http/envelope.ts';
import { readPage } from '../../http/keyset-page.ts';
import { requirePlayer, requireUuid } from '../profile/read.ts';
import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import type { Clock } from '../../platform/clock.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { lastDays } from './days.ts';
import { findTimeline, sumDepositsByDay, type TimelinePosition, type TimelineRow } from './queries.ts';
import { depositsOfDay, timelineEntry, timelineQuery } from './schema.ts';

interface Deps {
  postgres: Postgres;
  clickhouse: ClickHouse;
  clock: Clock;
}

/** Checks the parts of a {@link TimelinePosition} in a cursor. */
const POSITION_SHAPE = [
  (part: string) => /^-?\d{1,13}$/.test(part),
  isUuid,
  (part: string) => /^\d{1,4}$/.test(part),
] as const;

/** A player's timeline and daily deposits, read from ClickHouse (spec part 4). */
export function playerHistoryEndpoints(deps: Deps): AnyEndpoint[] {
  const shared = {
    method: 'GET',
    access: { mode: 'session', role: 'viewer', scope: 'project' },
    status: 200,
    errors: ['PLAYER_NOT_FOUND'],
  } as const;
  return [
    endpoint({
      ...shared,
      path: '/v1/players/:id/timeline',
      summary: "A player's events, the newest first by event time",
      query: timelineQuery,
      response: z.array(timelineEntry),
      shape: 'list',
      handle: ({ caller, params, query }) => timelinePage(deps, caller, params['id'] ?? '', query),
    }),
    endpoint({
      ...shared,
      path: '/v1/players/:id/deposits-daily',
      summary: 'Confirmed deposits of the last 30 UTC days in base currency, days without any as 0',
      response: z.array(depositsOfDay),
      handle: ({ caller, params }) => depositSeries(deps, caller, params['id'] ?? ''),
    }),
  ];
}

async function timelinePage(
  deps: Deps,
  { tenant_id, project_id }: ProjectSession,
  player_id: string,
  { cursor, limit }: z.infer<typeof timelineQuery>,
): Promise<string> {
  const ref = { tenant_id, project_id, player_id };
  const { rows, next_cursor } = await readPage<TimelineRow, TimelinePosition>(
    {
      scope: { kind: 'timeline', project_id, filters: { player_id } },
      shape: POSITION_SHAPE,
      positionOf: (row) => [row.occurred_ms, row.ingestion_id, String(row.event_index)],
      select: (after, count) =>
        ofPlayer(deps, ref, (ids) =>
          findTimeline(deps.clickhouse, { tenant_id, project_id, ...ids }, after, count),
        ),
    },
    { cursor, limit },
  );
  return envelopeOfText(`[${rows.map(entryJson).join(',')}]`, { next_cursor });
}

/** ClickHouse has the properties as JSON text, which is written to the answer unchanged. */
function entryJson({ ingestion_id, event, occurred_ms, properties }: TimelineRow): string {
  const timestamp = new Date(Number(occurred_ms)).toISOString();
  return (
    `{"ingestion_id":"${ingestion_id}","event":${JSON.stringify(event)},"timestamp":"${timestamp}"` +
    `,"properties":${properties === '' ? '{}' : properties}}`
  );
}

async function depositSeries(
  deps: Deps,
  { tenant_id, project_id }: ProjectSession,
  player_id: string,
): Promise<string> {
  const ref = { tenant_id, project_id, player_id };
  const { dates, from_ms, to_ms } = lastDays(deps.clock.now_ms());
  const rows = await ofPlayer(deps, ref, (ids) =>
    sumDepositsByDay(deps.clickhouse, { tenant_id, project_id, ...ids }, from_ms, to_ms),
  );
  const amounts = new Map(rows.map(({ day, amount }) => [day, amount]));
  const series = dates.map((date) => `{"date":"${date}","amount":${amounts.get(date) ?? '0'}}`);
  return envelopeOfText(`[${series.join(',')}]`);
}

/**
 * Reads the player from Postgres and runs `ask` with the given id at the same time. When the player's events have other
 * ids, it runs `ask` again with those. Rejects with PLAYER_NOT_FOUND when the project has no such player.
 */
async function ofPlayer<T>(
  { postgres }: Deps,
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
