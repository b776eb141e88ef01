import type { z } from 'zod';
import { readPage } from '../../http/keyset-page.ts';
import { JsonText } from '../../platform/exact-json.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { readAsked, type AskDeps } from './ask.ts';
import { readProtected } from '../../engage/messaging/reachability/read.ts';
import type { TenantBulkhead } from '../../segments/tenant-bulkhead.ts';
import { playersPage, samplePlayers, type FigurePlayer } from './insight-queries.ts';
import type { Statement } from './kind.ts';
import { kindOf, readCell, type playersBody } from './kinds.ts';
import { PROTECTION_SAMPLE } from './limits.ts';
import type { playersMeta } from './schema.ts';

export interface PlayersDeps
  extends Pick<AskDeps, 'postgres' | 'clock' | 'runner'>, Pick<Platform, 'clickhouse'> {
  /** How many requests of a tenant ask the gate at once. */
  gate_turns: TenantBulkhead;
}

const isNumber = (text: string) => /^-?\d{1,60}(\.\d{1,20})?$/.test(text);

/**
 * A page of the players behind a figure, the largest value first; with the first page, how many must be left alone. They are
 * those of now: a figure that was computed before may have others. Rejects as {@link readAsked} and `InsightRunner.run`, and with VALIDATION_ERROR for a cell that has no players.
 */
export async function playersOfFigure(
  deps: PlayersDeps,
  project: ProjectRef,
  { query, cell, cursor, limit }: z.infer<typeof playersBody>,
): Promise<{
  rows: { id: string; external_id: string | null; value: JsonText }[];
  next_cursor: string | null;
  protection?: Protection;
}> {
  const { scope } = await readAsked(deps, project, query);
  const statement = kindOf(query).players(query, scope, readCell(query, cell));
  const { rows, next_cursor } = await readPage<FigurePlayer, readonly [string, string]>(
    {
      scope: {
        kind: 'insight-players',
        project_id: project.project_id,
        filters: { query: JSON.stringify(query), cell: JSON.stringify(cell) },
      },
      shape: [isNumber, isUuid],
      positionOf: ({ id, value }) => [value, id],
      select: async (after, count) => {
        const page = playersPage(statement, after, count);
        const [found = []] = await deps.runner.run(deps.clickhouse, project, [page]);
        return found as unknown as FigurePlayer[];
      },
    },
    { cursor, limit },
  );
  const page = { rows: rows.map((row) => ({ ...row, value: new JsonText(row.value) })), next_cursor };
  if (cursor !== undefined) return page;
  const all = next_cursor === null ? rows.map(({ id }) => id) : undefined;
  return { ...page, protection: await protectionOf(deps, project, statement, all) };
}

type Protection = NonNullable<z.infer<typeof playersMeta>['protection']>;

/**
 * How many of the players that a statement gives must be left alone, or of a sample of them. `all`: their ids, where they are
 * known: then ClickHouse is not asked again.
 */
async function protectionOf(
  deps: PlayersDeps,
  project: ProjectRef,
  statement: Statement,
  all: readonly string[] | undefined,
): Promise<Protection> {
  const { players, ids } =
    all === undefined ? await samplePlayersOf(deps, project, statement) : { players: all.length, ids: all };
  const { tenant_id } = project;
  const counts =
    ids.length === 0
      ? { protected: 0, at_risk: 0 }
      : await deps.gate_turns.run(tenant_id, () => readProtected(deps, project, ids));
  return { players, asked: ids.length, ...counts };
}

async function samplePlayersOf(
  { runner, clickhouse }: PlayersDeps,
  project: ProjectRef,
  statement: Statement,
): Promise<{ players: number; ids: readonly string[] }> {
  const [[row] = []] = await runner.run(clickhouse, project, [samplePlayers(statement, PROTECTION_SAMPLE)]);
  return { players: Number(row?.['players'] ?? 0), ids: (row?.['ids'] ?? []) as readonly string[] };
}
