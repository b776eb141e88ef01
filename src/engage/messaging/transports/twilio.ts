import type { Clock } from '../../../platform/clock.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import type { TwilioConfig } from '../../providers/kinds.ts';
import type { SendOutcome, Transport } from '../../providers/message.ts';
import { ANSWERS } from './answers.ts';
import { jsonText, outcomeOf, postToProvider } from './http-call.ts';

const BASE_URL = 'https://api.twilio.com';
const CONCURRENCY = 60;

/** SMS through Twilio. Each message has a callback URL, which names the provider and the send. */
export function openTwilio(
  { account_sid, auth_token, from, base_url = BASE_URL }: TwilioConfig,
  {
    clock,
    egress,
    public_url,
    provider_id,
  }: { clock: Clock; egress: Egress; public_url: string; provider_id: string },
): Transport {
  const url = `${base_url}/2010-04-01/Accounts/${encodeURIComponent(account_sid)}/Messages.json`;
  const headers = {
    authorization: `Basic ${Buffer.from(`${account_sid}:${auth_token}`).toString('base64')}`,
    'content-type': 'application/x-www-form-urlencoded',
  };
  // The id of a messaging service has a field of its own, other than a number or a sender's name.
  const sender: Record<string, string> = /^MG[0-9a-f]{32}$/i.test(from)
    ? { MessagingServiceSid: from }
    : { From: from };
  return {
    concurrency: CONCURRENCY,
    async send({ recipient, body, send_id }): Promise<SendOutcome> {
      const form = new URLSearchParams({ To: recipient, ...sender, Body: body });
      if (send_id !== null) {
        const named = String(new URLSearchParams({ provider_id, send_id }));
        form.set('StatusCallback', `${public_url}/v1/messaging-webhooks/twilio?${named}`);
      }
      const answer = await postToProvider({ egress, url, headers, body: String(form) });
      return outcomeOf(answer, ANSWERS.twilio, clock.now_ms(), (text) => jsonText(text, 'sid'));
    },
    close: () => Promise.resolve(),
  };
}
