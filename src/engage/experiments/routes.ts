import { z } from 'zod';
import { validationError } from '../../errors.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope, envelopeOfText } from '../../http/envelope.ts';
import { nameSchemas } from '../../http/field-schemas.ts';
import { ownerOf } from '../../http/record.ts';
import { exactJson, JsonText } from '../../platform/exact-json.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Experiment } from './experiment.ts';
import { changeOfRound, pastRounds, roundOf, type PastRound } from './global.ts';
import {
  saveGlobalHoldout,
  selectGlobalHoldout,
  selectShares,
  type GlobalHoldout,
} from './global-queries.ts';
import { upliftReport } from './report-json.ts';
import type { Effects } from './uplift.ts';
import { populationOfRound, TREATED } from './uplift-queries.ts';

const path = '/v1/experiments/global';
/** From the draw on, money is measured so long. */
const WINDOW_DAYS = 28;
const WINDOW_MS = WINDOW_DAYS * 86_400_000;
/** Rounds that are listed, and changes that are read for them. */
const MAX_ROUNDS = 40;
const MAX_SHARES = 100;
/** Quarters of a share that is looked for by name. */
const MAX_QUARTERS = 400;

const setting = {
  holdout_percent: z
    .number()
    .min(0)
    .max(10)
    .describe('The share of players who get nothing of campaigns, journeys and bonus campaigns'),
};
const body = z.strictObject(setting);
const round = { name: z.string(), begins_at: z.iso.datetime(), ends_at: z.iso.datetime() };
const globalQuery = z.strictObject({
  round: z.string().max(40).optional().describe('The name of a round that is over'),
});
const globalHoldout = z.object({
  ...setting,
  round: z
    .object(round)
    .nullable()
    .describe('While the same players are held out: a quarter in UTC, or the rest of it after a change'),
});
const pastRound = z.object({ ...round, ...setting });
nameSchemas({ GlobalHoldoutBody: body, GlobalHoldout: globalHoldout, HoldoutRound: pastRound });

/** The holdout of a project, and what all that it sends has brought. */
export function experimentEndpoints({
  postgres,
  clock,
  effects,
}: Pick<Platform, 'postgres' | 'clock'> & { effects: Effects }): AnyEndpoint[] {
  const read = { mode: 'session', role: 'viewer', scope: 'project' } as const;
  return [
    endpoint({
      method: 'GET',
      path,
      load: 'elsewhere',
      summary: "The project's holdout, and what everything that it sends has brought in a round",
      access: read,
      query: globalQuery,
      response: globalHoldout.extend({
        rounds: z.array(pastRound).describe('Those that are over, the newest first'),
        uplift: upliftReport.nullable().describe('Null: nobody is held out'),
      }),
      handle: async ({ caller, query }) => {
        const project = ownerOf('project', caller);
        const now = new Date(clock.now_ms());
        const { held, shares, asked } = await postgres.asTenant(project.tenant_id, async (tx) => {
          const [found] = await selectGlobalHoldout(tx, project);
          return {
            held: found,
            shares: await selectShares(tx, project, { limit: MAX_SHARES }),
            asked: query.round === undefined ? undefined : await roundNamed(tx, project, query.round, now),
          };
        });
        const experiment =
          asked === undefined ? held && presentOf(project, held, now) : pastOf(project, asked);
        const uplift = experiment === undefined ? null : new JsonText(await effects.of(experiment));
        const rounds = pastRounds(shares, now, MAX_ROUNDS);
        return envelopeOfText(exactJson({ ...shown(held, now), rounds, uplift }));
      },
    }),
    endpoint({
      method: 'PUT',
      path,
      summary: 'Sets the share of players whom the project holds out; a change draws other players',
      audit: { resource: 'global_holdout', action: 'update' },
      access: { mode: 'session', role: 'admin', scope: 'project' },
      body,
      response: globalHoldout,
      handle: async ({ caller, body: { holdout_percent }, audit }) => {
        const project = ownerOf('project', caller);
        const { tenant_id, project_id } = project;
        const now = new Date(clock.now_ms());
        return postgres.asTenant(tenant_id, async (tx) => {
          const [before] = await selectGlobalHoldout(tx, project);
          await saveGlobalHoldout(tx, project, holdout_percent, now);
          const [after] = await selectGlobalHoldout(tx, project);
          const images = { before: before ? image(before) : null, after: after ? image(after) : null };
          await audit(tx, { tenant_id, project_id, resource_id: project_id, ...images });
          return envelope(shown(after, now));
        });
      },
    }),
  ];
}

const image = ({ holdout_percent, changes, changed_at }: GlobalHoldout) => ({
  holdout_percent,
  changes,
  changed_at,
});

function shown(held: GlobalHoldout | undefined, now: Date) {
  const { holdout_percent = 0 } = held ?? {};
  return { holdout_percent, round: held && holdout_percent > 0 ? roundOf(held, now) : null };
}

/** A round that is over. Rejects with VALIDATION_ERROR when the project has had no such round. */
async function roundNamed(tx: Tx, project: ProjectRef, name: string, now: Date): Promise<PastRound> {
  const changes = changeOfRound(name);
  const shares = changes === undefined ? [] : await selectShares(tx, project, { limit: 1, changes });
  const found = pastRounds(shares, now, MAX_QUARTERS).find((one) => one.name === name);
  if (found === undefined)
    throw validationError([{ path: 'round', message: 'is no round of this project that is over' }]);
  return found;
}

/** The present round; undefined while nobody is held out. */
function presentOf(project: ProjectRef, held: GlobalHoldout, now: Date): Experiment | undefined {
  const { holdout_percent } = held;
  if (holdout_percent === 0) return undefined;
  return experimentOf(project, { ...roundOf(held, now), holdout_percent }, true);
}

const pastOf = (project: ProjectRef, of: PastRound) => experimentOf(project, of, false);

/**
 * A round as an experiment. A player counts whose window is over before the round ends: afterwards others are held out, and
 * the arms are no more what they were.
 */
function experimentOf(project: ProjectRef, of: PastRound, is_running: boolean): Experiment {
  const { tenant_id, project_id } = project;
  const { holdout_percent, begins_at, ends_at } = of;
  const until = new Date(Math.max(begins_at.getTime(), ends_at.getTime() - WINDOW_MS));
  return {
    tenant_id,
    project_id,
    kind: 'global',
    experiment_id: project_id,
    round: of,
    population: populationOfRound(begins_at, until),
    drawn_since: begins_at,
    looks: 'always',
    is_running,
    holdout_percent,
    arms: [{ arm: TREATED, name: TREATED, weight: 1 }],
    goal: null,
    window_days: WINDOW_DAYS,
  };
}
