import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { FanOut } from '../../../src/engage/campaigns/fan-out.ts';
import { Messenger, type MessengerDeps } from '../../../src/engage/messaging/messenger.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { messagingClient, type MessagingClient } from './messaging-client.ts';

const SETTINGS = {
  credentials_keys: { current: '00'.repeat(32), previous: undefined },
  link_key: Buffer.alloc(32),
  public_url: 'http://localhost',
};

/** A service with every role except the messenger, which each test drives itself. */
export async function openMessengerFixture() {
  const service = await startTestService({
    credentials_key: SETTINGS.credentials_keys.current,
    roles: new Set(['api', 'intake', 'player-fold', 'player-mirror']),
  });
  return {
    service,
    close: () => service.close(),
    async newTenant() {
      const tenant = await service.newTenant();
      return { ...operatorOf(service, messagingClient(service, tenant)), api_key: tenant.api_key };
    },
  };
}
export type MessengerFixture = Awaited<ReturnType<typeof openMessengerFixture>>;

function operatorOf(service: TestService, client: MessagingClient) {
  /** Sends a campaign to players, or to so many new ones, and runs its fan-out, so that its rows exist. */
  async function sending(
    players: number | string[],
    rest: { provider_id: string } & Record<string, unknown>,
  ) {
    const { channel = 'email' } = rest;
    const texts = channel === 'email' ? {} : { subject: undefined };
    const template_id = await client.template({ channel, ...texts });
    const members = typeof players === 'number' ? await client.players(players) : players;
    const segment_id = await client.segment(members);
    const campaign_id = await client.campaign({ segment_id, template_id, ...rest });
    expect((await client.send(campaign_id)).status).toBe(200);
    const fanOut = new FanOut(service.platform);
    while (await fanOut.turn());
    return campaign_id;
  }
  return {
    client,
    sending,
    /** The status and code of each message of a campaign. */
    codes: async (campaign_id: string) =>
      (await client.recipients(campaign_id)).map(({ status, error_code }) => `${status} ${error_code}`),
  };
}

/** A messenger on the platform of the service; `changed` replaces parts of it. */
export function messengerOf({ platform }: TestService, changed: Partial<MessengerDeps> = {}) {
  const messenger = new Messenger({ ...platform, ...changed }, SETTINGS);
  return {
    messenger,
    /** Takes turns until the condition holds. */
    turnsUntil: (what: string, isSo: () => boolean | Promise<boolean>, timeout_ms?: number) =>
      until(
        what,
        async (saw) => {
          await messenger.turn();
          return saw(await isSo());
        },
        timeout_ms,
      ),
  };
}

/** The base URL of a server that listens on the loopback address. */
export function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
