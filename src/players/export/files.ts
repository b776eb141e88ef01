import { fitsPage } from '../../analytics/page-bytes-queries.ts';
import { sentJson } from '../../analytics/stored-json.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ErasedPerson, PlayerFile } from '../dependents.ts';
import { findMoneyEvents } from '../history/ledger-queries.ts';
import { ledgerLines } from '../history/ledger.ts';
import { findTimeline, positionOf, type TimelinePosition } from '../history/queries.ts';
import { playerJson } from '../profile/player-json.ts';
import { selectPlayer } from '../profile/queries.ts';

type Engines = Pick<Platform, 'postgres' | 'clickhouse'>;
type Person = Omit<ErasedPerson, 'erasure_id'>;

/** A file of an export: its lines in pages, so that memory is bounded however much the person did. */
export interface FileSource {
  name: string;
  pages: () => AsyncIterable<readonly string[]>;
}

const PAGE_LINES = 1_000;

/** The files of a person's export: those of ClickHouse and the ledger, and those of the given tables. */
export function filesOf(engines: Engines, person: Person, files: readonly PlayerFile[]): FileSource[] {
  const { postgres } = engines;
  return [
    { name: 'profile', pages: () => profile(engines, person) },
    { name: 'events', pages: () => events(engines, person) },
    { name: 'ledger', pages: () => ledger(engines, person) },
    ...files.map((file) => ({
      name: file.name,
      pages: () =>
        paged<string>(async (after) => {
          const lines = await file.page(postgres.service, person, after ?? null, PAGE_LINES);
          return { lines: lines.map(({ line }) => line), last: lines.at(-1)?.position };
        }),
    })),
  ];
}

/** Pages until one is not full. */
async function* paged<Position>(
  read: (
    after: Position | undefined,
  ) => Promise<{ lines: readonly string[]; last: Position | undefined; count?: number }>,
): AsyncGenerator<readonly string[]> {
  for (let after: Position | undefined; ;) {
    const { lines, last, count = lines.length } = await read(after);
    yield lines;
    if (last === undefined || count < PAGE_LINES) return;
    after = last;
  }
}

async function* profile({ postgres }: Engines, person: Person): AsyncGenerator<readonly string[]> {
  const { tenant_id, project_id, player_ids } = person;
  const [player_id = ''] = player_ids;
  const [player] = await selectPlayer(postgres.service, { tenant_id, project_id, player_id });
  yield player === undefined ? [] : [playerJson(tenant_id, project_id, player)];
}

function events(
  { clickhouse }: Engines,
  { player_ids, ...project }: Person,
): AsyncIterable<readonly string[]> {
  const owner = { ...project, event_player_ids: player_ids };
  return paged<TimelinePosition>(async (after) => {
    const rows = await findTimeline(clickhouse, owner, after, PAGE_LINES);
    // The others come again, with their properties, on the next page.
    const fitting = rows.filter(fitsPage);
    const lines = fitting.map(({ event, occurred_ms, ingestion_id, event_index, properties }) => {
      const at = new Date(Number(occurred_ms)).toISOString();
      const ids = `"ingestion_id":"${ingestion_id}","event_index":${event_index}`;
      return `{${ids},"event":${JSON.stringify(event)},"at":"${at}","properties":${sentJson(properties) || '{}'}}`;
    });
    const count = fitting.length < rows.length ? PAGE_LINES : rows.length;
    return { lines, last: fitting.map(positionOf).at(-1), count };
  });
}

function ledger(
  { postgres, clickhouse }: Engines,
  { player_ids, ...project }: Person,
): AsyncIterable<readonly string[]> {
  const owner = { ...project, event_player_ids: player_ids };
  return paged<TimelinePosition>(async (after) => {
    const rows = await findMoneyEvents(clickhouse, owner, after, PAGE_LINES);
    const lines = await ledgerLines(postgres, project, rows);
    return { lines, last: rows.map(positionOf).at(-1), count: rows.length };
  });
}
