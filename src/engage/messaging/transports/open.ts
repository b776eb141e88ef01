import { CONFIG_OF } from '../../providers/kinds.ts';
import type { ProviderRow } from '../../providers/queries.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Postgres } from '../../../platform/postgres/port.ts';
import type { Transport } from '../../providers/message.ts';
import { openFcm } from './fcm.ts';
import { openSandbox } from './sandbox.ts';
import { openSendgrid } from './sendgrid.ts';
import { openSmtp } from './smtp.ts';
import { openTwilio } from './twilio.ts';

export interface TransportDeps {
  postgres: Postgres;
  clock: Clock;
  egress: Egress;
  /** The base URL under which providers send their callbacks. */
  public_url: string;
}

/** Opens a provider's transport from its row and secrets, without connecting. Throws when the config is unusable. */
export function openTransport(
  row: ProviderRow,
  secrets: Record<string, unknown>,
  deps: TransportDeps,
): Transport {
  const config = { ...row.config, ...secrets };
  switch (row.kind) {
    case 'smtp':
      return openSmtp(CONFIG_OF.smtp.parse(config), deps);
    case 'sendgrid':
      return openSendgrid(CONFIG_OF.sendgrid.parse(config), { ...deps, tenant_id: row.tenant_id });
    case 'twilio':
      return openTwilio(CONFIG_OF.twilio.parse(config), { ...deps, provider_id: row.provider_id });
    case 'fcm':
      return openFcm(CONFIG_OF.fcm.parse(config), deps);
    case 'sandbox':
      return openSandbox(row, deps);
  }
}
