import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { LARGE_BODY_BYTES } from '../../http/server-options.ts';
import type { Platform } from '../../platform/platform.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import { DEFAULT_MODEL } from '../profile/score-models.ts';
import { selectModel } from './model-queries.ts';
import { receiveScores } from './receive.ts';
import { model, scoreResult, scoresBody, SEND_TIME_MODEL, sendTimeModel } from './schema.ts';
import { selectSendTimeModel } from './send-time/model-queries.ts';

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
        "The service's own models of the project: parameters, and the proof against plain recency or the profile",
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      response: z.array(z.discriminatedUnion('model', [model, sendTimeModel])),
      handle: async ({ caller }) => {
        const project = projectRefOf(caller);
        const [scores, send_times] = await Promise.all([
          postgres.readAsTenant(project.tenant_id, (tx) => selectModel(tx, project)),
          postgres.readAsTenant(project.tenant_id, (tx) => selectSendTimeModel(tx, project)),
        ]);
        const models = scores.map(({ fit, ngr, total_deposited, ...row }) => ({
          model: DEFAULT_MODEL as typeof DEFAULT_MODEL,
          ...row,
          ngr: BigInt(ngr),
          total_deposited: BigInt(total_deposited),
          ...fit,
        }));
        const timed = send_times.map(
          ({ fit, ...row }) => ({ model: SEND_TIME_MODEL, ...row, ...fit }) as const,
        );
        return envelope([...models, ...timed]);
      },
    }),
  ];
}
