import { smallestRateEffect } from '../../platform/statistics/smallest-effect.ts';
import { validationError } from '../../errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { readOwnConfig, reportingSettingsOf } from '../../tenants/config/read.ts';
import { requireReferences } from '../change.ts';
import { dependenciesOf } from '../dependencies.ts';
import type { Group } from '../language/conditions.ts';
import { readDefinition } from '../language/definition.ts';
import { selectWithReferences } from '../queries.ts';
import { fieldsWithoutHistory } from '../sql/as-of.ts';
import { compileMembersAsOf } from '../sql/compile.ts';
import { readOutcome } from './backtest-queries.ts';
import type { BacktestBody, Backtest } from './schema.ts';

const DAY_MS = 86_400_000;
/** How far `as_of` may lie in the past. */
const MAX_DAYS = 800;
/** Shares that are held out, for which the smallest visible effect is shown. */
const HELD_OUT_PERCENT = [5, 10];

type Deps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock'>;

/**
 * Who would have been a member of a definition at `as_of`, by what was known then, and what these players did in the days
 * after it. Figures of days that are not over are null. Rejects with VALIDATION_ERROR, SEGMENT_DEFINITION_INVALID or
 * SEGMENT_TOO_EXPENSIVE.
 */
export async function backtest(
  { postgres, clickhouse, clock }: Deps,
  project: ProjectRef,
  { definition: written, as_of, horizon_days }: BacktestBody,
): Promise<Backtest> {
  const definition = readDefinition(written);
  const at_ms = Date.parse(as_of);
  const now_ms = clock.now_ms();
  if (at_ms > now_ms || at_ms < now_ms - MAX_DAYS * DAY_MS) {
    throw validationError([{ path: 'as_of', message: `must be in the last ${MAX_DAYS} days` }]);
  }
  await requireReferences(postgres, project, definition);
  const reporting = reportingSettingsOf(await readOwnConfig(postgres, project.tenant_id));
  const inlined = await referredDefinitions(postgres, project, definition);
  const until_ms = at_ms + horizon_days * DAY_MS;
  const { members, depositors, ngr } = await readOutcome(
    clickhouse,
    { ...project, now_ms: at_ms, until_ms },
    compileMembersAsOf(definition, inlined),
    reporting,
  );
  const is_over = until_ms <= now_ms;
  return {
    as_of,
    horizon_days,
    is_over,
    members,
    base_rate: is_over ? { numerator: depositors, denominator: members } : null,
    ngr_per_head: is_over ? { numerator: ngr, denominator: members } : null,
    smallest_visible_effect: is_over ? effects(members, depositors) : [],
    not_historic: fieldsWithoutHistory(definition, inlined),
  };
}

function effects(members: number, depositors: number): Backtest['smallest_visible_effect'] {
  return HELD_OUT_PERCENT.flatMap((held_out_percent) => {
    const held_out = Math.round((members * held_out_percent) / 100);
    const effect = smallestRateEffect(depositors / members, { treated: members - held_out, held_out });
    return effect === null ? [] : [{ held_out_percent, points: Number((effect * 100).toFixed(4)) }];
  });
}

/** The definitions of the segments that a definition refers to, directly or through others, by their ids. */
export async function referredDefinitions(
  postgres: Platform['postgres'],
  project: ProjectRef,
  definition: Group,
): Promise<Map<string, Group>> {
  const found = new Map<string, Group>();
  for (const segment_id of dependenciesOf(definition).segment_ids) {
    if (found.has(segment_id)) continue;
    const ref = { ...project, segment_id };
    for (const one of await selectWithReferences(postgres.service, ref)) {
      found.set(one.segment_id, readDefinition(one.definition));
    }
  }
  return found;
}
