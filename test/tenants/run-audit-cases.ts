import type { Expected } from './audit-cases.ts';
import type { Platform } from '../../src/platform/platform.ts';
import type { Answer } from '../engines/http-client.ts';
import { fillRuns } from './filled-runs.ts';

interface Means {
  at: () => { postgres: Platform['postgres']; tenant_id: string; project_id: string };
  newPlayer: () => Promise<string>;
  send: (method: string, path: string, body?: unknown) => Promise<Answer>;
}

const nodes = (duration_ms: number) => [
  { id: 'w', type: 'wait', duration_ms, next: 'end' },
  { id: 'end', type: 'end' },
];
const JOURNEY = {
  name: 'audited',
  trigger: { kind: 'api' },
  graph: { start_node_id: 'w', nodes: nodes(60_000) },
};

/** What is expected of the audit rows of journeys, by method and path. */
export function journeyAuditCases(send: Means['send']): Record<string, () => Promise<Expected>> {
  const create = () => send('POST', '/v1/journeys', JOURNEY);
  const made = async () => String((await create()).body.data['id']);
  const activated = async () => {
    const id = await made();
    await send('POST', `/v1/journeys/${id}/activate`);
    return id;
  };
  return {
    'POST /v1/journeys': async () => {
      const answer = await create();
      return {
        answer,
        resource_id: String(answer.body.data['id']),
        after: { name: 'audited', status: 'draft' },
      };
    },
    'PATCH /v1/journeys/:id': async () => {
      const id = await made();
      const answer = await send('PATCH', `/v1/journeys/${id}`, { name: 'renamed' });
      return { answer, resource_id: id, before: { name: 'audited' }, after: { name: 'renamed' } };
    },
    'DELETE /v1/journeys/:id': async () => {
      const id = await made();
      const answer = await send('DELETE', `/v1/journeys/${id}`);
      const { deleted_at } = answer.body.data;
      return { answer, resource_id: id, before: { deleted_at: null }, after: { deleted_at } };
    },
    'POST /v1/journeys/:id/activate': async () => {
      const id = await made();
      const answer = await send('POST', `/v1/journeys/${id}/activate`);
      return {
        answer,
        resource_id: id,
        before: { status: 'draft' },
        after: { status: 'active', version: 1 },
      };
    },
    'POST /v1/journeys/:id/pause': async () => {
      const id = await activated();
      const answer = await send('POST', `/v1/journeys/${id}/pause`);
      return { answer, resource_id: id, before: { status: 'active' }, after: { status: 'paused' } };
    },
    'POST /v1/journeys/:id/versions/:version/publish': async () => {
      const id = await activated();
      const answer = await send('POST', `/v1/journeys/${id}/versions/1/publish`);
      return { answer, resource_id: id, before: { version: 1 }, after: { version: 2 } };
    },
    'POST /v1/journeys/:id/migrate-runs': async () => {
      const id = await activated();
      const graph = { start_node_id: 'w', nodes: nodes(90_000) };
      await send('PATCH', `/v1/journeys/${id}`, { graph });
      const versions = { from_version: 1, to_version: 2 };
      const answer = await send('POST', `/v1/journeys/${id}/migrate-runs`, { ...versions, unmapped: 'stay' });
      return { answer, resource_id: id, after: { ...versions, moved: 0 } };
    },
  };
}

/** What is expected of the audit rows of runs, by method and path. */
export function runAuditCases({ at, newPlayer, send }: Means): Record<string, () => Promise<Expected>> {
  const filled = async () => {
    const player_id = await newPlayer();
    return { player_id, ...(await fillRuns(at(), { ...at(), player_id })) };
  };
  return {
    'POST /v1/journeys/:id/trigger': async () => {
      const { journey_id, player_id } = await filled();
      const answer = await send('POST', `/v1/journeys/${journey_id}/trigger`, { player_id });
      return { answer, resource_id: String(answer.body.data['run_id']), after: { status: 'running' } };
    },
    'POST /v1/journeys/:id/runs/:runId/cancel': async () => {
      const { journey_id, run_id } = await filled();
      const answer = await send('POST', `/v1/journeys/${journey_id}/runs/${run_id}/cancel`);
      return { answer, resource_id: run_id, before: { status: 'running' }, after: { status: 'cancelled' } };
    },
    'POST /v1/journeys/:id/runs/cancel': async () => {
      const { journey_id } = await filled();
      const answer = await send('POST', `/v1/journeys/${journey_id}/runs/cancel`, {});
      return { answer, resource_id: journey_id, after: { cancelled: 1 } };
    },
  };
}
