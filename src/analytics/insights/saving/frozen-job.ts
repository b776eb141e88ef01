import { z } from 'zod';
import { ApiError } from '../../../errors.ts';
import { exactJson, parseExact } from '../../../platform/exact-json.ts';
import type { NewJob } from '../../../platform/jobs/port.ts';
import type { Platform } from '../../../platform/platform.ts';
import { fillFrozenSegment, MAX_LIST_PLAYERS, type ListedPlayers } from '../../../segments/freeze.ts';
import type { SegmentRef } from '../../../segments/queries.ts';
import { readAsked } from '../ask.ts';
import { kindOf, queryBody } from '../kinds.ts';
import type { InsightQuery } from '../schema.ts';
import { countPlayers, pageOfPlayers } from './frozen-queries.ts';

/** Writes the players of a cell as the list of a frozen segment. */
export const FREEZE_TASK = 'insight-freeze';

const MAX_ATTEMPTS = 5;
/** Ids per question to ClickHouse; each question computes the whole cell. */
const PAGE_IDS = 100_000;

const payloadSchema = z.strictObject({
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  segment_id: z.uuid(),
  /** {@link askedSchema} as JSON: what reads a payload rounds its numbers. */
  asked: z.string(),
});
const askedSchema = z.strictObject({ query: queryBody, cell: z.unknown() });

/**
 * A job that writes the list. One is written at a time: each may read as much as a query may. One that is the first of its
 * tenant (`is_first`) comes before the further ones of all tenants, so no tenant waits for all of another's.
 */
export function freezeJob(
  ref: SegmentRef,
  { query, cell, is_first }: { query: InsightQuery; cell: unknown; is_first: boolean },
): NewJob {
  const { tenant_id, project_id, segment_id } = ref;
  return {
    task: FREEZE_TASK,
    payload: { tenant_id, project_id, segment_id, asked: exactJson({ query, cell }) },
    max_attempts: MAX_ATTEMPTS,
    job_key: `${FREEZE_TASK} ${segment_id}`,
    queue: FREEZE_TASK,
    priority: is_first ? -1 : 0,
  };
}

type Deps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'logger'>;

/** The task `insight-freeze`. The players are those of the cell when the job reads them. */
export async function runFreezeJob(deps: Deps, payload: unknown): Promise<void> {
  const { asked, ...ref } = payloadSchema.parse(payload);
  const { query, cell } = askedSchema.parse(parseExact(asked));
  await fillFrozenSegment(deps, ref, () => playersOf(deps, ref, query, cell));
}

async function playersOf(
  deps: Deps,
  { tenant_id, project_id }: SegmentRef,
  query: InsightQuery,
  cell: unknown,
): Promise<ListedPlayers> {
  const { clickhouse, clock } = deps;
  const project = { tenant_id, project_id };
  const { scope } = await readAsked(deps, project, query);
  const statement = kindOf(query).players(query, scope, cell);
  const question = { ...project, now_ms: clock.now_ms() };
  const total = await countPlayers(clickhouse, question, statement);
  if (total > MAX_LIST_PLAYERS) {
    const message = `the cell has ${total} players: a list has at most ${MAX_LIST_PLAYERS}`;
    throw new ApiError('INSIGHT_TOO_EXPENSIVE', message);
  }
  const pages = async function* () {
    for (let after = '', is_full = true; is_full;) {
      const page = await pageOfPlayers(clickhouse, question, statement, after, PAGE_IDS);
      yield page;
      after = page.at(-1) ?? after;
      is_full = page.length === PAGE_IDS;
    }
  };
  return { total, pages: pages() };
}
