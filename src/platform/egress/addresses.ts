import { BlockList, isIP, isIPv4 } from 'node:net';

/** IPv4 networks that are not public: private, shared, local, reserved, for documentation and tests, or multicast. */
const NOT_PUBLIC_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Link-local; the metadata services of most clouds are here.
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // The host's own service in Azure: a public address that does not leave the machine.
  '168.63.129.16/32',
];
/**
 * The part of IPv6 that is assigned to networks of the internet. Everything else is refused without being named:
 * loopback, unspecified, unique local, link- and site-local, multicast, IPv4-mapped, -compatible and -translated, NAT64.
 */
const GLOBAL_V6 = '2000::/3';
/** Within {@link GLOBAL_V6}: protocol assignments with Teredo, 6to4, and documentation. */
const NOT_PUBLIC_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

/** The networks of loopback addresses. */
export const LOOPBACK_NETWORKS: readonly string[] = ['127.0.0.0/8', '::1/128'];

const not_public = networkList([...NOT_PUBLIC_V4, ...NOT_PUBLIC_V6]);
const global_v6 = networkList([GLOBAL_V6]);
const loopback = networkList(LOOPBACK_NETWORKS);

/** The networks (`10.0.0.0/8`, `fd00::/8`) or single addresses as a list. Throws RangeError for any other text. */
export function networkList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix, more] = network.split('/');
    const bits = isIPv4(address) ? 32 : 128;
    const length = prefix === undefined ? bits : Number(prefix);
    const is_length = prefix === undefined || (/^\d{1,3}$/.test(prefix) && length <= bits);
    if (isIP(address) === 0 || address.includes('%') || more !== undefined || !is_length) {
      throw new RangeError(
        `"${network}" is not a valid network: write an address and a length, as in 10.0.0.0/8`,
      );
    }
    list.addSubnet(address, length, isIPv4(address) ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** Whether an IP address is in the list; false for a text that is not a plain IP address (one with a zone, say). */
export function isIn(list: BlockList, address: string): boolean {
  const family = address.includes('%') ? 0 : isIP(address);
  return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

/** Whether the text is an IP address of the public internet. */
export function isPublicAddress(address: string): boolean {
  if (isIn(not_public, address)) return false;
  return isIPv4(address) || isIn(global_v6, address);
}

/** Whether the text is a loopback address, or the name of one. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || isIn(loopback, host);
}

/** Whether the host of the URL is a loopback address, or the name of one. */
export function isLoopbackUrl(url: string): boolean {
  return isLoopback(new URL(url).hostname.replace(/^\[|\]$/g, ''));
}

/**
 * The host in one spelling: names in lower case without a final dot, IPv4 addresses in four decimal numbers (`0x7f.1`
 * and `2130706433` are `127.0.0.1`), IPv6 addresses without brackets. Undefined for what is neither name nor address.
 */
export function canonicalHost(host: string): string | undefined {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  if (isIP(bare) === 6) return bare.includes('%') ? undefined : bare.toLowerCase();
  // A URL would read these as the end of the host.
  if (bare === '' || /[\s/\\?#@:[\]]/.test(bare)) return undefined;
  const url = URL.canParse(`http://${bare}/`) ? new URL(`http://${bare}/`) : undefined;
  const name = url?.hostname.replace(/\.$/, '') ?? '';
  return name === '' ? undefined : name;
}
