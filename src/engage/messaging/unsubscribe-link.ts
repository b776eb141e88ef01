import { createHmac, timingSafeEqual } from 'node:crypto';
import { CHANNELS, type Channel } from '../../tenants/config/channels.ts';

/** The player, channel and address that an unsubscribe link is for. */
export interface Unsubscriber {
  tenant_id: string;
  project_id: string;
  player_id: string;
  channel: Channel;
  address: string;
}

const VERSION = 1;
const UUID_BYTES = 16;
const HEAD_BYTES = 2 + 3 * UUID_BYTES;
const MAC_BYTES = 16;
const MAX_TOKEN_CHARS = 8_192;

/**
 * The link with which a player unsubscribes, and the headers with which mail programs offer it (RFC 8058). The link
 * never expires, because a message may be read at any time. `link_key` is the installation's, see link-key.ts.
 */
export function unsubscribeHeaders(
  link_key: Buffer,
  public_url: string,
  who: Unsubscriber,
): { url: string; headers: Record<string, string> } {
  const url = `${public_url}/v1/unsubscribe?token=${unsubscribeToken(link_key, who)}`;
  return {
    url,
    headers: { 'List-Unsubscribe': `<${url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
  };
}

/** The token of the link. It is signed but not encrypted, because only the player that it is about receives it. */
export function unsubscribeToken(link_key: Buffer, who: Unsubscriber): string {
  const ids = [who.tenant_id, who.project_id, who.player_id].map((id) => id.replaceAll('-', '')).join('');
  const says = Buffer.concat([
    Buffer.from([VERSION, CHANNELS.indexOf(who.channel)]),
    Buffer.from(ids, 'hex'),
    Buffer.from(who.address),
  ]);
  return Buffer.concat([macOf(link_key, says), says]).toString('base64url');
}

/** Reads a token; undefined when this installation did not make it. */
export function readUnsubscribeToken(link_key: Buffer, token: string): Unsubscriber | undefined {
  if (token.length > MAX_TOKEN_CHARS) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  const [mac, says] = [bytes.subarray(0, MAC_BYTES), bytes.subarray(MAC_BYTES)];
  if (says.length < HEAD_BYTES || !timingSafeEqual(mac, macOf(link_key, says))) return undefined;
  const channel = CHANNELS[says[1] ?? -1];
  if (says[0] !== VERSION || channel === undefined) return undefined;
  const id = (index: number) => uuidOf(says.subarray(2 + index * UUID_BYTES, 2 + (index + 1) * UUID_BYTES));
  return {
    tenant_id: id(0),
    project_id: id(1),
    player_id: id(2),
    channel,
    address: says.subarray(HEAD_BYTES).toString(),
  };
}

function macOf(link_key: Buffer, says: Buffer): Buffer {
  return createHmac('sha256', link_key).update(says).digest().subarray(0, MAC_BYTES);
}

function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
