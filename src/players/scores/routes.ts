import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { LARGE_BODY_BYTES } from '../../http/server-options.ts';
import type { Platform } from '../../platform/platform.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import { DEFAULT_MODEL } from '../profile/score-models.ts';
import { selectModel } from './model-queries.ts';
import { receiveScores } from './receive.ts';
import { model, scoreResult, scoresBody } from './schema.ts';

/** Scores of players, and the models that they are from (docs/scores.md). */
export function scoreEndpoints({ postgres, clock }: Pick<Platform, 'postgres' | 'clock'>): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/scores',
      summary: 'Writes churn_score and ltv_predicted of players that a model of yours has computed',
      access: { mode: 'api_key', rate: 'identify', kind: 'server' },
      body: scoresBody,
      max_body_bytes: LARGE_BODY_BYTES,
      response: z.array(scoreResult),
      handle: async ({ caller, body }) =>
        envelope(await receiveScores({ postgres, clock }, projectRefOf(caller), body)),
    }),
    endpoint({
      method: 'GET',
      path: '/v1/models',
      summary:
        "The service's own model of the project: parameters, backtest against plain recency, calibration",
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      response: z.array(model),
      handle: async ({ caller }) => {
        const project = projectRefOf(caller);
        const rows = await postgres.readAsTenant(project.tenant_id, (tx) => selectModel(tx, project));
        const models = rows.map(({ fit, ngr, total_deposited, ...row }) => ({
          model: DEFAULT_MODEL,
          ...row,
          ngr: BigInt(ngr),
          total_deposited: BigInt(total_deposited),
          ...fit,
        }));
        return envelope(models);
      },
    }),
  ];
}
