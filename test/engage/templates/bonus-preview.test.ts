import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSegmentFixture, type Body, type SegmentFixture } from '../../segments/segment-fixture.ts';

let fixture: SegmentFixture;
let api: SegmentFixture['api'];
beforeAll(async () => {
  fixture = await openSegmentFixture();
  ({ api } = fixture);
});
afterAll(() => fixture?.service.close());

async function make(body: Body): Promise<string> {
  const { status, text, data } = await api('POST', '/v1/templates', body);
  expect(status, text).toBe(201);
  return String(data['id']);
}

async function makeProvider(channel: string, rest: Body = {}): Promise<string> {
  const body = { name: `${channel} sandbox`, kind: 'sandbox', channel, config: {}, ...rest };
  const { status, text, data } = await api('POST', '/v1/messaging-providers', body);
  expect(status, text).toBe(201);
  return String(data['id']);
}

const preview = (id: string, body: Body = {}) => api('POST', `/v1/templates/${id}/preview`, body);
const sendTest = (id: string, body: Body) => api('POST', `/v1/templates/${id}/send-test`, body);
async function kept(provider_id: string): Promise<Body[]> {
  const { data } = await api('GET', `/v1/messaging-providers/${provider_id}/messages`);
  return data as unknown as Body[];
}

describe('the bonus of a player', () => {
  it('is what previews, tests and simulations show', async () => {
    const granted = async (player_id: string, amount: number) => {
      const config = { amount, currency: 'EUR' };
      const gift = { name: 'Gift', type: 'no_deposit', config, wagering_requirement_multiplier: 2 };
      const template = await api('POST', '/v1/bonus-templates', gift);
      expect(template.status, template.text).toBe(201);
      const body = { template_id: template.data['id'], player_id, granted_by_kind: 'manual' };
      const grant = await api('POST', '/v1/bonus-grants', { ...body, granted_by_id: null });
      expect(grant.status, grant.text).toBe(201);
      return String(grant.data['id']);
    };
    const body = '{{ bonus.name }}, {{ bonus.amount | money }}, {{ bonus.wagering_required | money }}';
    const provider_id = await makeProvider('sms');
    const id = await make({ name: 'b', channel: 'sms', body, status: 'active' });
    const phone = '+35621000009';
    const player_id = await fixture.person({ phone }, { external_id: 'has-bonuses' });
    const none = (await preview(id, { player_id })).data;
    expect(none['missing_variables']).toEqual(['bonus.amount', 'bonus.name', 'bonus.wagering_required']);
    await granted(player_id, 700);
    const newest = await granted(player_id, 800);
    const shown = (await preview(id, { player_id })).data;
    expect(shown).toMatchObject({ body: 'Gift, €8.00, €16.00', missing_variables: [] });
    const sent = await sendTest(id, { recipient: phone, player_id, provider_id });
    expect(sent.data, sent.text).toMatchObject({ status: 'sent' });
    expect((await kept(provider_id))[0]).toMatchObject({ body: 'Gift, €8.00, €16.00' });
    const journey = await api('POST', '/v1/journeys', {
      name: 'tells of the bonus',
      trigger: { kind: 'api' },
      graph: {
        start_node_id: 'text',
        nodes: [
          { id: 'text', type: 'send_message', template_id: id, provider_id, next: 'end' },
          { id: 'end', type: 'end' },
        ],
      },
    });
    expect(journey.status, journey.text).toBe(201);
    const path = `/v1/journeys/${String(journey.data['id'])}/simulate`;
    const bodies = async (who: Body) =>
      ((await api('POST', path, who)).data['messages'] as Body[]).map(({ body: text }) => text);
    expect(await bodies({ player_id })).toEqual(['Gift, €8.00, €16.00']);
    expect(await bodies({})).toEqual(['Welcome bonus, €100.00, €1,000.00']);
    // One that has ended is none; the survivor's is shown for a merged player.
    expect((await api('POST', `/v1/bonus-grants/${newest}/cancel`, {})).status).toBe(200);
    expect((await preview(id, { player_id })).data['body']).toBe('Gift, €7.00, €14.00');
    const guest = await fixture.person({}, { anonymous_id: 'bonus-guest' });
    await fixture.person({}, { external_id: 'has-bonuses', anonymous_id: 'bonus-guest' });
    expect((await preview(id, { player_id: guest })).data['body']).toBe('Gift, €7.00, €14.00');
  });
});
