import { z } from 'zod';
import { nameSchemas } from '../../../http/field-schemas.ts';
import { signatureRefused } from '../../../errors.ts';
import { endpoint, type AnyEndpoint } from '../../../http/endpoint.ts';
import { EndpointBulkhead } from '../../../http/endpoint-bulkhead.ts';
import { envelope } from '../../../http/envelope.ts';
import { decryptSecrets } from '../../providers/credentials.ts';
import type { Clock } from '../../../platform/clock.ts';
import { isUuid } from '../../../platform/ids.ts';
import type { Db, Postgres } from '../../../platform/postgres/port.ts';
import type { EncryptionKeys } from '../../../platform/encryption.ts';
import { applyAll, applyReply } from './apply.ts';
import { findCallbackProvider, type CallbackProvider } from './callback-queries.ts';
import { isSignedBySendgrid, readSendgridBody } from './sendgrid.ts';
import { isSignedByTwilio, readTwilioBody, readTwilioReply } from './twilio.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
  credentials_keys: EncryptionKeys;
  /** The base URL under which providers reach this service. */
  public_url: string;
}

// An unknown or malformed id gets the same answer as a bad signature, so the schema does not check its format.
const id = z.string().optional().meta({ format: 'uuid' });
const provider_id = id.describe('The messaging provider whose callbacks they are');

const response = z.object({
  received: z.int().describe('Events in the body'),
  applied: z.int().describe('Messages and suppressions that they changed'),
});
nameSchemas({ CallbackResult: response });

/** Look-ups of providers that run at once. */
const LOOKUPS = 1;

interface RouteDeps extends Deps {
  /** The service role, for look-ups. */
  lookups: Db;
}

/** The callbacks of providers about messages (spec part 4). */
export function callbackEndpoints(deps: Deps): AnyEndpoint[] {
  const lookups = deps.postgres.lookups.share(LOOKUPS);
  return [sendgridEndpoint({ ...deps, lookups }), twilioEndpoint({ ...deps, lookups })];
}

function sendgridEndpoint({ postgres, lookups, clock }: RouteDeps): AnyEndpoint {
  // Its own, because the tenant is known only after the look-up of the provider.
  const bulkhead = new EndpointBulkhead();
  return endpoint({
    method: 'POST',
    path: '/v1/messaging-webhooks/sendgrid',
    summary: "SendGrid's Event Webhook: deliveries, opens, clicks, bounces, complaints, unsubscriptions",
    access: { mode: 'webhook' },
    load: 'elsewhere',
    raw_types: ['application/json'],
    query: z.object({ provider_id }),
    response,
    async handle({ caller, query }) {
      const now_ms = clock.now_ms();
      const provider = await requireProvider(lookups, query.provider_id, 'sendgrid');
      if (!isSignedBySendgrid(caller, provider.config['webhook_public_key'], now_ms))
        throw signatureRefused();
      const events = readSendgridBody(caller.body, now_ms);
      const callbacks = events.filter((event) => event !== undefined);
      const applied = await bulkhead.run(provider.tenant_id, () =>
        applyAll(postgres, provider, callbacks, now_ms),
      );
      return envelope({ received: events.length, applied });
    },
  });
}

function twilioEndpoint({ postgres, lookups, clock, credentials_keys, public_url }: RouteDeps): AnyEndpoint {
  // Its own, because the tenant is known only after the look-up of the provider.
  const bulkhead = new EndpointBulkhead();
  return endpoint({
    method: 'POST',
    path: '/v1/messaging-webhooks/twilio',
    summary:
      "Twilio's status callbacks of messages, and players' replies: STOP suppresses the number, START ends the suppression",
    access: { mode: 'webhook' },
    load: 'elsewhere',
    raw_types: ['application/x-www-form-urlencoded'],
    query: z.object({ provider_id, send_id: id.describe('The message') }),
    response,
    async handle({ caller, query }) {
      const now_ms = clock.now_ms();
      const provider = await requireProvider(lookups, query.provider_id, 'twilio');
      const { credentials } = provider;
      const secrets = credentials === null ? {} : decryptSecrets(credentials_keys, provider, credentials);
      if (!isSignedByTwilio(caller, secrets['auth_token'], public_url)) throw signatureRefused();
      const reply = readTwilioReply(caller.body);
      const callback = readTwilioBody(caller.body, query.send_id, now_ms);
      const apply = async () => {
        if (reply === undefined)
          return applyAll(postgres, provider, callback === undefined ? [] : [callback], now_ms);
        return reply === 'nothing' ? 0 : applyReply(postgres, provider, reply, now_ms);
      };
      const applied = await bulkhead.run(provider.tenant_id, apply);
      return envelope({ received: 1, applied });
    },
  });
}

/** The provider that the id names. Throws the error of a bad signature when there is none of this kind. */
async function requireProvider(
  lookups: Db,
  provider_id: string | undefined,
  kind: string,
): Promise<CallbackProvider> {
  const found =
    provider_id !== undefined && isUuid(provider_id)
      ? await findCallbackProvider(lookups, provider_id)
      : undefined;
  if (found?.kind !== kind) throw signatureRefused();
  return found;
}
