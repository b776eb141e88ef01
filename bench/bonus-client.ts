import { platformsOpener } from '../src/app/bonus-platforms.ts';
import type { Platforms } from '../src/adapters/platforms.ts';
import { readConfig } from '../src/config.ts';
import type { TestService } from '../test/engines/service.ts';
import { callApi, type Caller } from './journey-client.ts';

type Body = Record<string, unknown>;

/** What one bonus of {@link makeTemplate} costs, in the smallest unit of the base currency. */
export const GIFT_BASE = 1_000;

/** Makes a template of €10 for nothing, to be wagered ten times; returns its id. */
export async function makeTemplate(
  caller: Pick<Caller, 'base_url' | 'session_token'>,
  rest: Body = {},
): Promise<string> {
  const config = { amount: GIFT_BASE, currency: 'EUR' };
  const gift = { name: 'bench', type: 'no_deposit', config, wagering_requirement_multiplier: 10 };
  const made = await callApi(caller, 'POST', '/v1/bonus-templates', { ...gift, ...rest });
  return String(made['id']);
}

/** The platforms of the service's bonuses, as its processors open them. */
export function openPlatformsOf({ data_dir, platform, service }: TestService): Promise<Platforms> {
  return platformsOpener(readConfig({ DATA_DIR: data_dir }), platform, service.notifications)();
}
