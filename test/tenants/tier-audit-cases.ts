import type { Answer } from '../engines/http-client.ts';
import type { Expected } from './audit-cases.ts';

interface Means {
  send: (method: string, path: string, body?: unknown) => Promise<Answer>;
  internal: (method: string, path: string, body?: unknown) => Promise<Answer>;
  newPlayer: () => Promise<string>;
  tenant_id: () => string;
}

/** Changes of VIP tiers and of players' tiers, and what their calls have to leave in the audit log. */
export function tierAuditCases({
  send,
  internal,
  newPlayer,
  tenant_id,
}: Means): Record<string, () => Promise<Expected>> {
  let made = 0;
  // Of falling rank: no later one raises a player.
  const create = () => {
    const code = `audited_${++made}`;
    return send('POST', '/v1/vip-tiers', { code, name: 'Audited', rank: 1_000 - made });
  };
  return {
    'POST /v1/vip-tiers': async () => {
      const answer = await create();
      const after = answer.body.data;
      return { answer, resource_id: String(after['id']), project_id: null, after };
    },
    'PATCH /v1/vip-tiers/:id': async () => {
      const id = String((await create()).body.data['id']);
      const answer = await send('PATCH', `/v1/vip-tiers/${id}`, { name: 'Renamed' });
      const sides = { before: { name: 'Audited' }, after: { name: 'Renamed' } };
      return { answer, resource_id: id, project_id: null, ...sides };
    },
    'POST /v1/players/:id/tier': async () => {
      const { code } = (await create()).body.data;
      const id = await newPlayer();
      const body = { to_code: code, reason: 'care', lock: true };
      const answer = await send('POST', `/v1/players/${id}/tier`, body);
      const before = { current_tier_code: null, tier_locked: false };
      return { answer, resource_id: id, before, after: { current_tier_code: code, tier_locked: true } };
    },
    'POST /v1/internal/recompute-tier': async () => {
      await create();
      const player_id = await newPlayer();
      const body = { tenant_id: tenant_id(), player_id, trigger: 'auto' };
      const answer = await internal('POST', '/v1/internal/recompute-tier', body);
      const after = { current_tier_code: answer.body.data['to_code'] };
      return { answer, resource_id: player_id, before: { current_tier_code: null }, after };
    },
  };
}
