import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../../engines/http-client.ts';
import { folded, startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { openTestPlatform } from '../../engines/wiring.ts';
import { messagingClient, type MessagingClient, type ShownSend } from './messaging-client.ts';

const PARTITIONS = 4;
/** Events of the import: far more than the fold takes in one transaction. */
const BATCHES = 50;
let service: TestService;
beforeAll(async () => {
  service = await startTestService({}, (config) => openTestPlatform(config, { partitions: PARTITIONS }));
});
afterAll(async () => service?.close());

/** The partition of the events of an id. */
const partitionOf = (project_id: string, id: string) =>
  service.platform.eventLog.partitionOf(`${project_id}:${id}`, PARTITIONS);

async function post(url: string, token: string, body: unknown): Promise<void> {
  const response = await call(url, token, { body });
  expect(response.status, response.text).toBeLessThan(300);
}

/**
 * Another tenant imports the history of one player, and the fold is stuck in it: it holds the partition of that player
 * until `release` is called.
 */
async function importBehind(): Promise<{ partition: number; release: () => Promise<void> }> {
  const importer = await service.newTenant();
  const anonymous_id = 'imported player';
  const partition = partitionOf(importer.project_id, anonymous_id);
  const send = (count: number) =>
    post(`${service.ingest_url}/v1/events/batch`, importer.api_key, {
      events: Array.from({ length: count }, () => ({ event: 'page_view', anonymous_id, properties: {} })),
    });
  await send(1);
  await folded(service.platform);
  const [released, locked] = [new EventEmitter(), new EventEmitter()];
  const is_locked = once(locked, 'now');
  const ended = service.platform.postgres.service.begin(async (tx) => {
    const rows = await tx`
      select from fold_positions where topic = 'events' and partition = ${partition} for update`;
    expect(rows).toHaveLength(1);
    const is_released = once(released, 'now');
    locked.emit('now');
    await is_released;
  });
  await Promise.race([is_locked, ended]);
  for (let batch = 0; batch < BATCHES; batch++) await send(100);
  return {
    partition,
    async release() {
      released.emit('now');
      await ended;
    },
  };
}

const statuses = async (client: MessagingClient, campaign_id: string) =>
  new Map((await client.recipients(campaign_id)).map((row) => [row.player_id, row] as const));

/** Resolves with the rows once exactly these players are not waiting any more. */
async function begun(client: MessagingClient, campaign_id: string, player_ids: readonly string[]) {
  let rows = new Map<string, ShownSend>();
  await until(async (saw) => {
    rows = saw(await statuses(client, campaign_id));
    return player_ids.every((id) => rows.get(id)?.status === 'sent');
  });
  return rows;
}

it('an import of one tenant holds up only messages of players in its partition', async () => {
  const tenant = await service.newTenant();
  const client = messagingClient(service, tenant);
  const player_ids = await client.players(60);
  const segment_id = await client.segment(player_ids);
  const [template_id, provider_id] = [await client.template(), await client.provider()];
  const { partition, release } = await importBehind();
  try {
    const isHeld = (id: string) => partitionOf(tenant.project_id, id) === partition;
    const [held, free] = [player_ids.filter(isHeld), player_ids.filter((id) => !isHeld(id))];
    expect(held.length).toBeGreaterThan(0);
    // Accepted, and behind the import.
    const [excluded = ''] = held;
    await client.event(excluded, 'self_exclusion_set');
    const campaign_id = await client.campaign({ segment_id, template_id, provider_id });
    expect((await client.send(campaign_id)).status).toBe(200);
    const rows = await begun(client, campaign_id, free);
    for (const id of held) expect(rows.get(id)?.status).toBe('queued');
    await release();
    await client.reaches(campaign_id, 'sent');
    const after = await statuses(client, campaign_id);
    expect(after.get(excluded)?.error_code).toBe('SKIPPED_SELF_EXCLUDED');
    const others = held.filter((id) => id !== excluded);
    expect(others.map((id) => after.get(id)?.status)).toEqual(others.map(() => 'sent'));
  } finally {
    await release();
  }
});

it('an exclusion of another player with the address counts from its acceptance', async () => {
  const tenant = await service.newTenant();
  const client = messagingClient(service, tenant);
  const { partition, release } = await importBehind();
  try {
    const alone = await playerIn(client, tenant.project_id, partition);
    const sharing = await playerIn(client, tenant.project_id, partition);
    let other = '';
    while (other === '' || partitionOf(tenant.project_id, other) !== partition) {
      [other = ''] = await client.players(1);
    }
    // Nothing of the player who is written to is behind the import.
    await service.platform.postgres.service`
      update players set email = ${`${sharing.toUpperCase()}@example.com`} where player_id = ${other}`;
    await client.event(other, 'self_exclusion_set');
    const segment_id = await client.segment([alone, sharing]);
    const [template_id, provider_id] = [await client.template(), await client.provider()];
    const campaign_id = await client.campaign({ segment_id, template_id, provider_id });
    expect((await client.send(campaign_id)).status).toBe(200);
    const rows = await begun(client, campaign_id, [alone]);
    expect(rows.get(sharing)?.status).toBe('queued');
    await release();
    await client.reaches(campaign_id, 'sent');
    expect((await statuses(client, campaign_id)).get(sharing)?.error_code).toBe('SKIPPED_SELF_EXCLUDED');
  } finally {
    await release();
  }
});

it('an exclusion counts from its acceptance by whichever id of the player it comes', async () => {
  const tenant = await service.newTenant();
  const client = messagingClient(service, tenant);
  const { partition, release } = await importBehind();
  try {
    /** An id in the partition of the import, or in another one. */
    const idIn = (is_held: boolean, make: () => string): string => {
      for (;;) {
        const id = make();
        if ((partitionOf(tenant.project_id, id) === partition) === is_held) return id;
      }
    };
    const identify = (body: object) => post(`${service.base_url}/v1/players/identify`, tenant.api_key, body);
    const device = idIn(true, () => `device ${randomUUID()}`);
    const of_no_device = await playerIn(client, tenant.project_id, partition);
    const of_device = await playerIn(client, tenant.project_id, partition);
    await identify({ player_id: of_device, anonymous_id: device });
    // A player whose events are behind the import, and who is then merged into one whose are not.
    const survivor = await playerIn(client, tenant.project_id, partition);
    const former_device = idIn(false, () => `former ${randomUUID()}`);
    const former = await anonymousIn(tenant.project_id, partition, tenant.api_key, former_device);
    const everyone = [of_no_device, of_device, survivor];
    await post(`${service.ingest_url}/v1/events`, tenant.api_key, {
      event: 'self_exclusion_set',
      anonymous_id: device,
      properties: {},
    });
    await client.event(former.player_id, 'self_exclusion_set');
    await identify({ player_id: survivor, anonymous_id: former.anonymous_id });
    const segment_id = await client.segment(everyone);
    const [template_id, provider_id] = [await client.template(), await client.provider()];
    const campaign_id = await client.campaign({ segment_id, template_id, provider_id });
    expect((await client.send(campaign_id)).status).toBe(200);
    const rows = await begun(client, campaign_id, [of_no_device]);
    expect(rows.get(of_device)?.status).toBe('queued');
    expect(rows.get(survivor)?.status).toBe('queued');
    await release();
    await client.reaches(campaign_id, 'sent');
    const after = await statuses(client, campaign_id);
    for (const id of [of_device, survivor]) {
      expect(after.get(id)?.error_code, id).toBe('SKIPPED_SELF_EXCLUDED');
    }
  } finally {
    await release();
  }
});

/** A player with an email address whose own events are not in the partition. */
async function playerIn(client: MessagingClient, project_id: string, but_not: number): Promise<string> {
  for (;;) {
    const [id = ''] = await client.players(1);
    if (partitionOf(project_id, id) !== but_not) return id;
  }
}

/** An anonymous player, made by an event, whose player_id lies in the partition; the anonymous ids do not. */
async function anonymousIn(
  project_id: string,
  partition: number,
  api_key: string,
  prefix: string,
): Promise<{ player_id: string; anonymous_id: string }> {
  const { service: sql } = service.platform.postgres;
  for (let n = 0; ; n++) {
    const anonymous_id = `${prefix} ${n}`;
    if (partitionOf(project_id, anonymous_id) === partition) continue;
    await post(`${service.ingest_url}/v1/events`, api_key, {
      event: 'page_view',
      anonymous_id,
      properties: {},
    });
    const player_id = await until('the player exists', async (saw) => {
      const [row] = saw(
        await sql<{ player_id: string }[]>`
        select player_id from player_identities where project_id = ${project_id} and anonymous_id = ${anonymous_id}`,
      );
      return row?.player_id;
    });
    if (partitionOf(project_id, player_id) === partition) return { player_id, anonymous_id };
  }
}
