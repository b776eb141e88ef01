import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Body } from '../../engage/messaging/messaging-client.ts';
import { call, internally } from '../../engines/http-client.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { campaignsFixture, consistent, type CampaignsFixture } from './campaigns-fixture.ts';
import { dereferenced } from '../../http/dereferenced.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

const fresh = () => campaignsFixture(service);

/** What POST /v1/internal/bonus-grant answers. */
async function askInternally(on: CampaignsFixture, campaign_id: string, player_id: string | undefined) {
  const response = await internally(service, 'bonus-grant', {
    tenant_id: on.tenant.tenant_id,
    campaign_id,
    player_id,
  });
  const body = response.body as { data?: Body; error?: { code: string } };
  return { status: response.status, ...body };
}

describe('POST /v1/internal/bonus-grant', () => {
  it('decides about one member however often the worker asks', async () => {
    const on = await fresh();
    const players = await on.client.players(3);
    const segment_id = await on.client.segment(players);
    const template_id = await on.template();
    const { data } = await on.create({ template_id, segment_id });
    await on.issue(data.id);
    const ask = (player_id: string | undefined, campaign_id = data.id) =>
      askInternally(on, campaign_id, player_id);
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask(players[0])));
    for (const { data: answer } of answers) expect(['pending', 'granted']).toContain(answer?.['outcome']);
    await on.reaches(data.id, ({ status }) => status === 'issued');
    const last = await ask(players[0]);
    expect(last.data).toMatchObject({ outcome: 'granted', grant_id: expect.any(String) as string });
    const [stranger, gone] = await on.client.players(2);
    expect((await ask(stranger)).data).toEqual({
      grant_id: null,
      outcome: 'skipped',
      code: 'NOT_IN_SEGMENT',
    });
    for (const deleted of [gone, players[0]])
      expect((await on.client.api('DELETE', `/v1/players/${deleted}`)).status).toBe(200);
    for (const none of [gone, randomUUID()])
      expect(await ask(none)).toMatchObject({ status: 404, error: { code: 'PLAYER_NOT_FOUND' } });
    // What became of a member stays to be read.
    expect(await ask(players[0])).toEqual(last);
    expect((await ask(players[0], randomUUID())).error?.code).toBe('BONUS_CAMPAIGN_NOT_FOUND');
    await consistent(on, data.id);
  });

  it('grants to no member of a campaign that is not issued', async () => {
    const on = await fresh();
    const players = await on.client.players(1);
    const body = { template_id: await on.template(), segment_id: await on.client.segment(players) };
    const { data: draft } = await on.create(body);
    const schedule_at = new Date(Date.now() + 3_600_000).toISOString();
    const { data: scheduled } = await on.create({ ...body, schedule_at });
    for (const { id, status } of [draft, scheduled]) {
      const { error } = await askInternally(on, id, players[0]);
      expect([id, error]).toMatchObject([id, { code: 'BONUS_CAMPAIGN_INVALID_STATUS' }]);
      expect((await on.show(id)).status).toBe(status);
    }
    const { status, error } = await askInternally(on, draft.id, randomUUID());
    expect([status, error?.code]).toEqual([409, 'BONUS_CAMPAIGN_INVALID_STATUS']);
  });

  it('takes the id of a merged player for that of the survivor', async () => {
    const on = await fresh();
    const identify = async (body: object) => {
      const url = `${service.base_url}/v1/players/identify`;
      return (await call<{ player_id: string }>(url, on.tenant.api_key, { body })).data.player_id;
    };
    const guest = await identify({ anonymous_id: 'device' });
    const known = await identify({ external_id: 'ann' });
    await on.config({ paused: true });
    const segment_id = await on.client.segment([guest]);
    const { data } = await on.create({ template_id: await on.template(), segment_id });
    expect((await on.issue(data.id)).data.stats.pending).toBe(1);
    expect(await identify({ anonymous_id: 'device', external_id: 'ann' })).toBe(known);
    await on.config({ paused: false });
    const asked = await askInternally(on, data.id, guest);
    expect(['pending', 'granted']).toContain(asked.data?.['outcome']);
    await on.reaches(data.id, ({ status }) => status === 'issued');
    const [last, same] = [await askInternally(on, data.id, guest), await askInternally(on, data.id, known)];
    expect(last.data).toMatchObject({ outcome: 'granted', grant_id: expect.any(String) as string });
    expect(last).toEqual(same);
    await consistent(on, data.id);
  });

  it('answers the worker with declared errors only', async () => {
    const on = await fresh();
    const served: unknown = await (await fetch(`${service.base_url}/openapi.json`)).json();
    const openapi = dereferenced(served as Record<string, unknown>) as {
      paths: Record<string, { post: { responses: Record<string, { description: string }> } }>;
    };
    const { responses } = openapi.paths['/v1/internal/bonus-grant']?.post ?? { responses: {} };
    const players = await on.client.players(1);
    const segment_id = await on.client.segment(players);
    const template_id = await on.template();
    await on.config({ paused: true });
    const { data } = await on.create({ template_id, segment_id });
    await on.issue(data.id);
    const undeclared = [
      await askInternally(on, (await on.create({ template_id, segment_id })).data.id, players[0]),
      await askInternally(on, data.id, randomUUID()),
    ].filter(({ status, error }) => !responses[status]?.description.includes(error?.code ?? ''));
    expect(undeclared).toEqual([]);
    const breaks = {
      BONUS_TEMPLATE_NOT_ACTIVE: on.sql`update bonus_templates set status = 'paused' where template_id = ${template_id}`,
      BONUS_CONFIG_INVALID: on.sql`
        update bonus_templates set status = 'active', config = '{}' where template_id = ${template_id}`,
      BONUS_TEMPLATE_NOT_FOUND: on.sql`update bonus_templates set deleted_at = now() where template_id = ${template_id}`,
    };
    for (const [code, change] of Object.entries(breaks)) {
      await change;
      const { status, error } = await askInternally(on, data.id, players[0]);
      expect([code, error?.code]).toEqual([code, code]);
      expect(responses[status]?.description).toContain(code);
    }
  });
});
