import type { z } from 'zod';
import { readPage } from '../../http/keyset-page.ts';
import { JsonText } from '../../platform/exact-json.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { readAsked, type AskDeps } from './ask.ts';
import { playersPage, type FigurePlayer } from './insight-queries.ts';
import { kindOf, readCell, type playersBody } from './kinds.ts';

export type PlayersDeps = Pick<AskDeps, 'postgres' | 'clock' | 'runner'> & Pick<Platform, 'clickhouse'>;

const isNumber = (text: string) => /^-?\d{1,60}(\.\d{1,20})?$/.test(text);

/**
 * A page of the players behind a figure, the largest value first. They are those of now: a figure that was computed before may
 * have others. Rejects as {@link readAsked} and `InsightRunner.run`, and with VALIDATION_ERROR for a cell that has no players.
 */
export async function playersOfFigure(
  deps: PlayersDeps,
  project: ProjectRef,
  { query, cell, cursor, limit }: z.infer<typeof playersBody>,
): Promise<{
  rows: { id: string; external_id: string | null; value: JsonText }[];
  next_cursor: string | null;
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
  return { rows: rows.map((row) => ({ ...row, value: new JsonText(row.value) })), next_cursor };
}
