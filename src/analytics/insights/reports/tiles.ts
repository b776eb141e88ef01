import type { ClickHouseQueries } from '../../../platform/clickhouse/port.ts';
import { startBefore, startOfLocal } from '../../../platform/local-intervals.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { TimeZone } from '../../../platform/time-zone.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { askAnew } from '../ask.ts';
import type { ClosedDays } from '../closed-days.ts';
import { faultOf } from '../due/evaluator.ts';
import type { InsightRunner } from '../runner.ts';
import { selectInsights, selectSaved } from '../saved/queries.ts';
import { DASHBOARD } from '../saved/saved.ts';
import type { DashboardContent, InsightContent } from '../saved/schema.ts';
import type { InsightQuery } from '../schema.ts';
import { readAnswer, type TileAnswer } from './answer.ts';

/** What the tiles of a report need. */
export interface TileDeps extends Pick<Platform, 'postgres' | 'clock' | 'logger'> {
  clickhouse: ClickHouseQueries;
  runner: InsightRunner;
  closed_days: ClosedDays;
}

/** A dashboard with the queries of its tiles, in their order. */
export interface Board {
  dashboard_id: string;
  name: string;
  tiles: readonly BoardTile[];
}

interface BoardTile {
  insight_id: string;
  name: string;
  query: InsightQuery;
}

/** Why a tile has no figures; `is_temporary`: it may have some later, in `asked_ms` at the earliest. */
export interface TileFault {
  code: string;
  message: string;
  is_temporary: boolean;
  asked_ms: number;
}

/** A tile with its answer, or with why it has none. */
export type Tile = BoardTile & ({ answer: TileAnswer; fault: null } | { answer: null; fault: TileFault });

/** The dashboard, if it is not deleted, as a report sends it whose time is `due_ms`. */
export async function readBoard(
  { postgres }: Pick<Platform, 'postgres'>,
  project: ProjectRef,
  dashboard_id: string,
  due: { zone: TimeZone; due_ms: number },
): Promise<Board | undefined> {
  const { tenant_id, project_id } = project;
  const ref = { tenant_id, project_id, dashboard_id };
  const [row] = await postgres.readAsTenant(tenant_id, (tx) => selectSaved(tx, DASHBOARD, ref));
  if (row === undefined || row.deleted_at !== null) return undefined;
  const board = row.content as DashboardContent;
  const ids = [...new Set(board.tiles.map(({ insight_id }) => insight_id))];
  const found = await postgres.readAsTenant(tenant_id, (tx) => selectInsights(tx, project, ids));
  const insights = new Map(found.map((one) => [one.insight_id, one]));
  const tiles = board.tiles.flatMap(({ insight_id }) => {
    const insight = insights.get(insight_id);
    if (insight === undefined) return [];
    const { query } = insight.content as InsightContent;
    return [{ insight_id, name: insight.name, query: onDays(onBoard(query, board), due) }];
  });
  return { dashboard_id, name: row.name, tiles };
}

/** A query as a dashboard shows it. */
function onBoard(query: InsightQuery, { range, segment_id }: DashboardContent): InsightQuery {
  const filter = segment_id === null ? query.filter : { ...query.filter, segment_id };
  return { ...query, range: range ?? query.range, filter };
}

/** The last days of a query are those before the day of the report, or before its week or month: intervals that are over. */
function onDays(query: InsightQuery, { zone, due_ms }: { zone: TimeZone; due_ms: number }): InsightQuery {
  if (!('last' in query.range)) return query;
  const interval = query.interval === 'week' || query.interval === 'month' ? query.interval : 'day';
  const to_ms = startOfLocal(zone, interval, due_ms);
  const from_ms = startBefore(zone, 'day', to_ms, query.range.last.days);
  const [from, to] = [new Date(from_ms).toISOString(), new Date(to_ms).toISOString()];
  return { ...query, range: { from, to } };
}

const TEMPORARY: ReadonlySet<string> = new Set(['RATE_LIMITED', 'SERVICE_UNAVAILABLE']);

/**
 * Asks the tiles of a dashboard, one after the other. What one rejects with is its fault, and stops no other. `isOver`: absent,
 * or whether there is no more time for a further tile.
 */
export async function askTiles(
  deps: TileDeps,
  project: ProjectRef,
  board: Board,
  isOver: () => boolean = () => false,
): Promise<Tile[]> {
  const tiles: Tile[] = [];
  for (const tile of board.tiles) tiles.push(isOver() ? late(tile) : await askTile(deps, project, tile));
  return tiles;
}

async function askTile(deps: TileDeps, project: ProjectRef, tile: BoardTile): Promise<Tile> {
  try {
    const answer = readAnswer(tile.query, await askAnew(deps, project, tile.query));
    return { ...tile, answer, fault: null };
  } catch (error) {
    const { code, message, asked_ms, is_unexpected } = faultOf(error);
    if (is_unexpected)
      deps.logger.warn({ err: error, insight_id: tile.insight_id }, 'a tile of a report has no answer');
    return { ...tile, answer: null, fault: { code, message, asked_ms, is_temporary: TEMPORARY.has(code) } };
  }
}

function late(tile: BoardTile): Tile {
  const fault = { code: 'SERVICE_UNAVAILABLE', message: 'there was no time for it', asked_ms: 0 };
  return { ...tile, answer: null, fault: { ...fault, is_temporary: true } };
}
