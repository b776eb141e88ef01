import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ROLES } from '../../../src/config.ts';
import { newId } from '../../../src/platform/ids.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { ann, Operator } from './operator.ts';

let service: TestService;
let operator: Operator;
beforeAll(async () => {
  // No messenger runs, so queued messages stay queued.
  service = await startTestService({ roles: new Set(ROLES.filter((role) => role !== 'messenger')) });
});
afterAll(() => service.close());
beforeEach(async () => {
  operator = await Operator.open(service);
});

interface Message {
  send_id: string;
  campaign_id: string | null;
  player_id: string;
  dedup_key: string;
  status: string;
  xid: bigint;
}

async function sent(
  player_id: string,
  campaign_id: string | null,
  dedup_key = '',
  status = 'sent',
): Promise<string> {
  const { tenant_id, project_id } = operator.tenant;
  const send_id = newId();
  const now = new Date();
  const counted_at = status === 'sent' || status === 'sending' ? now : null;
  await service.platform.postgres.service`
    insert into message_sends (tenant_id, project_id, send_id, campaign_id, player_id, dedup_key, channel, status,
      counted_at, enqueued_at)
    values (${tenant_id}, ${project_id}, ${send_id}, ${campaign_id}, ${player_id}, ${dedup_key}, 'email', ${status},
      ${counted_at}, ${now})`;
  return send_id;
}

async function messages(): Promise<Map<string, Message>> {
  const rows = await service.platform.postgres.service<Message[]>`
    select send_id, campaign_id, player_id, dedup_key, status, changed_xid::text::bigint as xid
    from message_sends where tenant_id = ${operator.tenant.tenant_id}`;
  return new Map(rows.map((row) => [row.send_id, row]));
}

const visitor = { anonymous_id: 'visitor' };

async function two(): Promise<{ ann_id: string; visitor_id: string }> {
  const { player_id } = await operator.identify(ann);
  return { ann_id: player_id, visitor_id: (await operator.identify(visitor)).player_id };
}

describe('the messages of a merged player', () => {
  it('get the survivor’s id and are mirrored again; messages of other players stay unchanged', async () => {
    const { ann_id, visitor_id } = await two();
    const stranger_id = (await operator.identify({ anonymous_id: 'stranger' })).player_id;
    const [campaign, other] = [newId(), newId()];
    const hers = await sent(ann_id, campaign);
    const moved = await sent(visitor_id, other);
    const journey = await sent(visitor_id, null);
    const strangers = await sent(stranger_id, other);
    const before = await messages();
    await operator.identify({ ...visitor, ...ann });
    const after = await messages();
    expect(after.get(hers)).toEqual(before.get(hers));
    expect(after.get(strangers)).toEqual(before.get(strangers));
    for (const send_id of [moved, journey]) {
      const { xid, ...row } = after.get(send_id)!;
      expect(row).toEqual({ ...row, player_id: ann_id, dedup_key: '' });
      expect(xid).toBeGreaterThan(before.get(send_id)!.xid);
    }
  });

  it('stay beside the survivor’s own of the same campaign and dedup_key', async () => {
    const { ann_id, visitor_id } = await two();
    const campaign = newId();
    await sent(ann_id, campaign);
    await sent(ann_id, campaign, 'event 1');
    const same = [await sent(visitor_id, campaign), await sent(visitor_id, campaign, 'event 1')];
    const another = await sent(visitor_id, campaign, 'event 2');
    await operator.identify({ ...visitor, ...ann });
    const after = await messages();
    expect([...after.values()].filter(({ player_id }) => player_id !== ann_id).slice(0, 20)).toEqual([]);
    expect(same.map((send_id) => after.get(send_id)?.dedup_key)).toEqual([
      ` merged ${visitor_id}`,
      `event 1 merged ${visitor_id}`,
    ]);
    expect(after.get(another)?.dedup_key).toBe('event 2');
  });

  it('all reach the survivor after several merges', async () => {
    const { ann_id, visitor_id } = await two();
    const campaign = newId();
    await sent(ann_id, campaign);
    await sent(visitor_id, campaign);
    await operator.identify({ ...visitor, ...ann });
    const { player_id } = await operator.identify({ anonymous_id: 'tablet' });
    await sent(player_id, campaign);
    await operator.identify({ anonymous_id: 'tablet', ...ann });
    const rows = [...(await messages()).values()];
    expect(rows.map((row) => row.player_id)).toEqual([ann_id, ann_id, ann_id]);
    expect(new Set(rows.map(({ dedup_key }) => dedup_key)).size).toBe(3);
  });

  it('of another tenant stay unchanged, whatever their ids', async () => {
    const { visitor_id } = await two();
    const mine = operator;
    operator = await Operator.open(service);
    const foreign = await sent(visitor_id, newId());
    await mine.identify({ ...visitor, ...ann });
    expect((await messages()).get(foreign)?.player_id).toBe(visitor_id);
  });

  it.each([
    ['queued', 'queued', 'queued', 'failed'],
    ['queued', 'sending', 'failed', 'sending'],
    ['queued', 'sent', 'failed', 'sent'],
    ['sent', 'queued', 'sent', 'failed'],
    ['sending', 'queued', 'sending', 'failed'],
    ['failed', 'queued', 'failed', 'queued'],
    ['sent', 'sent', 'sent', 'sent'],
  ])('with %s and %s of one campaign become %s and %s', async (own, others, own_after, others_after) => {
    const { ann_id, visitor_id } = await two();
    const campaign = newId();
    const hers = await sent(ann_id, campaign, '', own);
    const moved = await sent(visitor_id, campaign, '', others);
    await operator.identify({ ...visitor, ...ann });
    const after = await messages();
    expect([after.get(hers)?.status, after.get(moved)?.status]).toEqual([own_after, others_after]);
  });
});
