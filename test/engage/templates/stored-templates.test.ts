import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { messagingClient } from '../messaging/messaging-client.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service?.close());

/** Took 8 s to render when such filters were offered. */
const FREEZING = '{% assign r = (1..20000) %}{{ r | where_exp: "a", "r contains a" | size }}';

it('a template of an earlier version that uses what is not offered any more fails, and says why', async () => {
  const client = messagingClient(service);
  const template_id = await client.template();
  await service.platform.postgres.service`
    update templates set body = ${FREEZING} where template_id = ${template_id}`;
  const provider_id = await client.provider();
  const segment_id = await client.segment(await client.players(3));
  const campaign_id = await client.campaign({ segment_id, template_id, provider_id });
  expect((await client.send(campaign_id)).status).toBe(200);
  await client.reaches(campaign_id, 'sent');
  const codes = (await client.recipients(campaign_id)).map(({ error_code }) => error_code);
  expect(codes).toEqual(Array.from({ length: 3 }, () => 'TEMPLATE_FAILED'));
  const shown = await client.api('GET', `/v1/templates/${template_id}`);
  expect(shown.data['body']).toBe(FREEZING);
  const asked = [
    await client.api('POST', `/v1/templates/${template_id}/preview`, {}),
    await client.api('POST', `/v1/templates/${template_id}/send-test`, {
      recipient: 'ann@example.com',
      provider_id,
    }),
    await client.api('PATCH', `/v1/templates/${template_id}`, { name: 'another' }),
  ];
  for (const { status, code, error } of asked) {
    expect([status, code]).toEqual([422, 'TEMPLATE_INVALID']);
    expect((error as { message: string }).message).toContain(
      'undefined filter: where_exp. It is not offered',
    );
  }
  const changed = await client.api('PATCH', `/v1/templates/${template_id}`, { body: '{{ first_name }}' });
  expect(changed.status).toBe(200);
});
