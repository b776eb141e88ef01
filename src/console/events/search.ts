import type { ProjectSession } from '../../http/endpoint.ts';
import { validationError } from '../../errors.ts';
import { envelopeOfText } from '../../http/envelope.ts';
import { readPage } from '../../http/keyset-page.ts';
import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { POSITION_SHAPE, positionOf, type TimelinePosition } from '../../players/history/queries.ts';
import { selectPlayerIds } from '../../players/profile/queries.ts';
import { maskPersonal } from '../../players/masking.ts';
import { searchEvents, type EventFilter, type EventRow, type FoundRow } from './queries.ts';
import type { SearchQuery } from './schema.ts';
import { jsonDigits, JsonText, exactJson } from '../../platform/exact-json.ts';
import { fitsPage, MAX_PAGE_BYTES } from '../../analytics/page-bytes-queries.ts';
import { sentJson } from '../../analytics/stored-json.ts';
import type { Platform } from '../../platform/platform.ts';

type Deps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock'>;

const DAY_MS = 86_400_000;
const MAX_DAYS = 90;
/** The last part of the range is searched first: usually it has enough, and the rest is not read. */
const FIRST_SPAN_MS = 5 * 60_000;
const GROWTH = 20;

/** Answers `GET /v1/event-search`. Rejects with VALIDATION_ERROR for an unusable range or cursor. */
export async function searchPage(
  deps: Deps,
  { tenant_id, project_id }: ProjectSession,
  { cursor, limit, event, player_id, ...range }: SearchQuery,
): Promise<string> {
  const { from_ms, to_ms } = rangeOf(range, deps.clock.now_ms());
  const player_ids = await idsOf(deps.postgres, { tenant_id, project_id }, player_id);
  const filter = { tenant_id, project_id, event, player_ids, from_ms, to_ms };
  const { rows, next_cursor } = await readPage<FoundRow, TimelinePosition>(
    {
      scope: { kind: 'event-search', project_id, filters: { event, player_id, ...range } },
      shape: POSITION_SHAPE,
      positionOf,
      fits: fitsPage,
      select: (after, count) => searchBack(deps.clickhouse, filter, after, count),
    },
    { cursor, limit },
  );
  const json = rows.map((row) => eventJson(row, player_ids?.[0] ?? row.owner));
  return envelopeOfText(`[${json.join(',')}]`, { next_cursor });
}

/**
 * All ids that the player's events may have, its own first: those of players that were merged into it, too. None of an
 * unknown player.
 */
async function idsOf(
  postgres: Postgres,
  { tenant_id, project_id }: { tenant_id: string; project_id: string },
  player_id: string | undefined,
): Promise<string[] | undefined> {
  if (player_id === undefined) return undefined;
  const ref = { tenant_id, project_id, player_id };
  const [found] = await postgres.readAsTenant(tenant_id, (tx) => selectPlayerIds(tx, ref));
  return found === undefined ? [] : [found.player_id, ...found.former_ids];
}

/** Searches from the end of the range back, in growing parts, until there are `count` events. */
async function searchBack(
  clickhouse: ClickHouse,
  filter: EventFilter,
  after: TimelinePosition | undefined,
  count: number,
): Promise<FoundRow[]> {
  if (filter.player_ids?.length === 0) return [];
  let page_bytes = MAX_PAGE_BYTES;
  if (filter.player_ids !== undefined)
    return searchEvents(clickhouse, filter, after, { limit: count, page_bytes });
  const found: FoundRow[] = [];
  let to_ms = after === undefined ? filter.to_ms : Math.min(filter.to_ms, Number(after[0]) + 1);
  for (let span_ms = FIRST_SPAN_MS; found.length < count && to_ms > filter.from_ms; span_ms *= GROWTH) {
    const from_ms = Math.max(filter.from_ms, to_ms - span_ms);
    const part = { ...filter, from_ms, to_ms };
    const limit = count - found.length;
    const rows = await searchEvents(clickhouse, part, after, { limit, page_bytes });
    found.push(...rows);
    // The first event of a page alone may have more.
    for (const { properties } of rows) page_bytes = Math.max(page_bytes - Buffer.byteLength(properties), 0);
    // At the first event that is beyond the page.
    if (!rows.every(fitsPage)) break;
    to_ms = from_ms;
  }
  return found;
}

function rangeOf({ from, to }: Pick<SearchQuery, 'from' | 'to'>, now_ms: number) {
  const to_ms = to === undefined ? now_ms : Date.parse(to);
  const from_ms = from === undefined ? to_ms - DAY_MS : Date.parse(from);
  if (from_ms > to_ms) throw validationError([{ path: 'from', message: 'must not be after `to`' }]);
  if (to_ms - from_ms > MAX_DAYS * DAY_MS)
    throw validationError([{ path: 'from', message: `must be at most ${MAX_DAYS} days before \`to\`` }]);
  return { from_ms, to_ms };
}

function eventJson(row: EventRow, player_id: string): string {
  const { ingestion_id, event_index: index, event } = row;
  const at = (ms: string) => new Date(Number(ms)).toISOString();
  return exactJson({
    ingestion_id,
    index,
    event,
    player_id,
    timestamp: at(row.occurred_ms),
    received_at: at(row.received_ms),
    base_amount: jsonDigits(row.base_amount),
    base_payout: jsonDigits(row.base_payout),
    properties: new JsonText(row.properties === '' ? '{}' : maskPersonal(sentJson(row.properties))),
  });
}
