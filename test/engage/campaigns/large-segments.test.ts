import { afterAll, beforeAll, expect, it } from 'vitest';
import { sendCampaign } from '../../../src/engage/campaigns/send.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { messagingClient, type MessagingClient } from '../messaging/messaging-client.ts';

let service: TestService;
let client: MessagingClient;
beforeAll(async () => {
  service = await sharedService();
  client = messagingClient(service, service);
});
afterAll(() => service?.close());

/** Members who were deleted since: they cost as much as others to divide into ranges, and get no message. */
const OTHERS = 150_000;

it('a large segment is cut into ranges bit by bit, and each member gets one message', async () => {
  const { postgres } = service.platform;
  const players = await client.players(3);
  const provider_id = await client.provider();
  const template_id = await client.template();
  const segment_id = await client.segment(players);
  const campaign_id = await client.campaign({ provider_id, template_id, segment_id });
  const { tenant_id, project_id } = service;
  await postgres.service`
    insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
    select ${tenant_id}, ${project_id}, ${segment_id}, gen_random_uuid(), now() from generate_series(1, ${OTHERS})`;
  let ranges: { until_player_id: string | null }[] = [];
  const audit = () => Promise.resolve();
  const sent = await sendCampaign(
    { ...service.platform, audit },
    { tenant_id, project_id, campaign_id },
    (start) =>
      postgres.asTenant(tenant_id, async (tx) => {
        const result = await start(tx);
        ranges = await tx<{ until_player_id: string | null }[]>`
        select until_player_id from member_ranges where owner_id = ${campaign_id}`;
        return result;
      }),
  );
  expect(sent).toMatchObject({ recipients_total: 3, enqueued: 3, no_recipient: 0 });
  // A hundred ranges of a thousand members, of which the first has its rows already, and all others in one.
  expect(ranges).toHaveLength(100);
  expect(ranges.filter(({ until_player_id }) => until_player_id === null)).toHaveLength(1);
  await client.reaches(campaign_id, 'sent');
  const rows = await client.recipients(campaign_id);
  expect(rows.map(({ player_id }) => player_id).sort()).toEqual(players.toSorted());
  const left = await postgres.service`select from member_ranges where owner_id = ${campaign_id}`;
  expect(left).toHaveLength(0);
});
