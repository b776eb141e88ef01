import { z } from 'zod';
import { RecentAnswers } from '../../analytics/recent-answers.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope, envelopeOfText } from '../../http/envelope.ts';
import { nameSchemas } from '../../http/field-schemas.ts';
import { ownerOf } from '../../http/record.ts';
import { exactJson, JsonText } from '../../platform/exact-json.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Experiment } from './experiment.ts';
import { roundOf } from './global.ts';
import { saveGlobalHoldout, selectGlobalHoldout, type GlobalHoldout } from './global-queries.ts';
import { upliftReport } from './report-json.ts';
import { upliftOf } from './uplift.ts';
import { populationOfRound, TREATED } from './uplift-queries.ts';

const path = '/v1/experiments/global';
/** From the draw on, money is measured so long. */
const WINDOW_DAYS = 28;

const setting = {
  holdout_percent: z
    .number()
    .min(0)
    .max(10)
    .describe('The share of players who get nothing of campaigns, journeys and bonus campaigns'),
};
const body = z.strictObject(setting);
const globalHoldout = z.object({
  ...setting,
  round: z
    .object({ name: z.string(), begins_at: z.iso.datetime(), ends_at: z.iso.datetime() })
    .nullable()
    .describe('While the same players are held out: a quarter in UTC, or the rest of it after a change'),
});
nameSchemas({ GlobalHoldoutBody: body, GlobalHoldout: globalHoldout });

/** The holdout of a project, and what all that it sends has brought. */
export function experimentEndpoints(deps: Platform): AnyEndpoint[] {
  const { postgres, clock } = deps;
  const answers = new RecentAnswers(deps, { only_dear: true });
  const read = { mode: 'session', role: 'viewer', scope: 'project' } as const;
  return [
    endpoint({
      method: 'GET',
      path,
      load: 'elsewhere',
      summary: "The project's holdout, and what everything that it sends has brought in this round",
      access: read,
      response: globalHoldout.extend({
        uplift: upliftReport.nullable().describe('Null: nobody is held out'),
      }),
      handle: async ({ caller }) => {
        const project = ownerOf('project', caller);
        const now = new Date(clock.now_ms());
        const [held] = await postgres.readAsTenant(project.tenant_id, (tx) =>
          selectGlobalHoldout(tx, project),
        );
        const experiment = held && experimentOf(project, held, now);
        const uplift =
          experiment === undefined ? null : new JsonText(await upliftOf({ ...deps, answers }, experiment));
        return envelopeOfText(exactJson({ ...shown(held, now), uplift }));
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

/** Undefined while nobody is held out. */
function experimentOf(project: ProjectRef, held: GlobalHoldout, now: Date): Experiment | undefined {
  if (held.holdout_percent === 0) return undefined;
  const { tenant_id, project_id } = project;
  const { begins_at, ends_at } = roundOf(held, now);
  return {
    tenant_id,
    project_id,
    kind: 'global',
    experiment_id: project_id,
    population: populationOfRound(begins_at, ends_at),
    looks: 'always',
    is_running: true,
    holdout_percent: held.holdout_percent,
    arms: [{ arm: TREATED, name: TREATED, weight: 1 }],
    goal: null,
    window_days: WINDOW_DAYS,
  };
}
