import type { Clock } from '../../../platform/clock.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import type { SendgridConfig } from '../../providers/kinds.ts';
import type { Message, SendOutcome, Transport } from '../../providers/message.ts';
import { ANSWERS } from './answers.ts';
import { emailHtml, isAddress, NO_ADDRESS, oneLine, parseSender, picturesOf, PNG } from './email.ts';
import { outcomeOf, postToProvider } from './http-call.ts';

const BASE_URL = 'https://api.sendgrid.com';
const CONCURRENCY = 60;

/** Email through SendGrid's v3 API. Its callbacks carry the send and the tenant as custom arguments. */
export function openSendgrid(
  { api_key, from, base_url = BASE_URL }: SendgridConfig,
  { clock, egress, tenant_id }: { clock: Clock; egress: Egress; tenant_id: string },
): Transport {
  const headers = { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' };
  return {
    concurrency: CONCURRENCY,
    async send(message): Promise<SendOutcome> {
      if (!isAddress(message.recipient)) return NO_ADDRESS;
      const body = JSON.stringify(requestOf(message, from, tenant_id));
      const answer = await postToProvider({ egress, url: `${base_url}/v3/mail/send`, headers, body });
      return outcomeOf(answer, ANSWERS.sendgrid, clock.now_ms(), (_text, header) => header('x-message-id'));
    },
    close: () => Promise.resolve(),
  };
}

function requestOf(message: Message, from: string, tenant_id: string) {
  const headers = Object.entries(message.headers).map(([name, value]) => [oneLine(name), oneLine(value)]);
  const pictures = picturesOf(message).map(({ png, ...rest }) => ({
    ...rest,
    content: png,
    type: PNG,
    disposition: 'inline',
  }));
  const custom_args = message.send_id === null ? { tenant_id } : { send_id: message.send_id, tenant_id };
  return {
    personalizations: [{ to: [{ email: message.recipient }], custom_args }],
    from: parseSender(from),
    subject: oneLine(message.subject ?? ''),
    // The API wants the text first, and no empty part.
    content: [
      ...(message.text === null || message.text === '' ? [] : [{ type: 'text/plain', value: message.text }]),
      { type: 'text/html', value: emailHtml(message) },
    ],
    ...(pictures.length === 0 ? {} : { attachments: pictures }),
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) as Record<string, string> }),
  };
}
