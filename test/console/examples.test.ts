import { afterAll, beforeAll, expect, test } from 'vitest';
import { EXAMPLES as campaigns } from '../../console/src/screens/campaigns/examples.ts';
import { EXAMPLES as journeys } from '../../console/src/screens/journeys/examples.ts';
import { EXAMPLES as segments } from '../../console/src/screens/segments/examples.ts';
import { EXAMPLES as templates } from '../../console/src/screens/templates/examples.ts';
import type { Fixture, Tenant } from '../http/api-fixture.ts';
import { sharedFixture } from '../http/shared-fixture.ts';

// The ready examples of empty lists are what the API takes.

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
});
afterAll(() => fixture?.close());

test.each([
  ['segments', segments],
  ['templates', templates],
  ['campaigns', campaigns],
  ['journeys', journeys],
])('three examples of %s become drafts', async (collection, examples) => {
  expect(examples).toHaveLength(3);
  for (const { title, body } of examples) {
    const answer = await fixture.as(tenant.session, `/v1/${collection}`, { method: 'POST', body });
    expect(answer.status, `${title}: ${answer.text}`).toBe(201);
    expect(answer.data['name']).toBe(title);
  }
});

test.each(templates)('the template “$title” renders for a player without a name', async ({ title, body }) => {
  const made = await fixture.as(tenant.session, '/v1/templates', { method: 'POST', body });
  const path = `/v1/templates/${String(made.data['id'])}/preview`;
  const preview = await fixture.as(tenant.session, path, { method: 'POST', body: {} });
  expect(preview.status, title).toBe(200);
});
