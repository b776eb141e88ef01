/** Addresses that must not be reached, one or more of each network. */
export const PRIVATE_V4 = [
  '127.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
  '168.63.129.16',
];

/** IPv6 addresses that hold no IPv4 address and must not be reached. */
const PRIVATE_V6 = [
  '::',
  '::1',
  '0:0:0:0:0:0:0:1',
  '0000:0000:0000:0000:0000:0000:0000:0001',
  'fe80::1',
  'febf::1',
  'fec0::1',
  'fc00::1',
  'fd00:ec2::254',
  'ff02::1',
  'ff0e::1',
  '100::1',
  '2001:db8::1',
  '3fff::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '5f00::1',
  '4000::1',
  'fe80::1%eth0',
  'fe80::1%251',
  '::1%lo',
];

const quads = (address: string) => address.split('.').map(Number) as [number, number, number, number];
const hex = (value: number, length = 0) => value.toString(16).padStart(length, '0');
const octal = (value: number) => `0${value.toString(8)}`;

/** Texts that some parser reads as the IPv4 address: other bases, fewer parts, other digits and dots. */
export function v4Forms(address: string): string[] {
  const [a, b, c, d] = quads(address);
  const number = ((a * 256 + b) * 256 + c) * 256 + d;
  const [low, lowest] = [c * 256 + d, (b * 256 + c) * 256 + d];
  const digits = (from: number) =>
    address.replace(/\d/g, (digit) => String.fromCodePoint(from + Number(digit)));
  const percent = (text: string) =>
    Array.from(text, (character) => `%${hex(character.codePointAt(0) ?? 0)}`).join('');
  return [
    address,
    `${address}.`,
    `${address}..`,
    String(number),
    `${number}.`,
    `0x${hex(number)}`,
    `0X${hex(number).toUpperCase()}`,
    `0x00000000${hex(number)}`,
    octal(number),
    `000${number.toString(8)}`,
    String(number + 2 ** 32),
    `${a}.${lowest}`,
    `${a}.${b}.${low}`,
    `0x${hex(a)}.${lowest}`,
    `${a}.0x${hex(lowest)}`,
    `${octal(a)}.${octal(b)}.${octal(c)}.${octal(d)}`,
    `000${octal(a)}.000${octal(b)}.000${octal(c)}.000${octal(d)}`,
    `0x${hex(a)}.0x${hex(b)}.0x${hex(c)}.0x${hex(d)}`,
    `0x${hex(a)}.${b}.${octal(c)}.${d}`,
    address.replaceAll('.', '。'),
    address.replaceAll('.', '．'),
    address.replaceAll('.', '｡'),
    digits(0xff10),
    digits(0x1d7ce),
    digits(0x1d7f6),
    address.replace(/[1-9]/g, (digit) => String.fromCodePoint(0x2460 + Number(digit) - 1)),
    percent(address),
    percent(String(number)),
    address.replaceAll('.', '%2e'),
    `user@${address}`,
    `93.184.216.34@${address}`,
    `user:password@${address}`,
    `${address}%00.example.com`,
    `${address}\t`,
    ` ${address}`,
    `${address}\\@example.com`,
    `\u00ad${address}`,
    `[${address}]`,
  ];
}

/** IPv6 addresses that hold the IPv4 address: mapped, compatible, translated, NAT64, 6to4, Teredo, ISATAP. */
export function embeddedForms(address: string): string[] {
  const [a, b, c, d] = quads(address);
  const [high, low] = [hex(a * 256 + b), hex(c * 256 + d)];
  const [flipped_high, flipped_low] = [hex(0xffff - (a * 256 + b)), hex(0xffff - (c * 256 + d))];
  return [
    `::ffff:${address}`,
    `::FFFF:${address}`,
    `::ffff:${high}:${low}`,
    `0:0:0:0:0:ffff:${high}:${low}`,
    `0000:0000:0000:0000:0000:ffff:${hex(a * 256 + b, 4)}:${hex(c * 256 + d, 4)}`,
    `::${address}`,
    `::${high}:${low}`,
    `::ffff:0:${address}`,
    `::ffff:0:${high}:${low}`,
    `64:ff9b::${address}`,
    `64:ff9b::${high}:${low}`,
    `64:ff9b:1::${high}:${low}`,
    `64:ff9b:1:${high}:${low}::`,
    `2002:${high}:${low}::`,
    `2002:${high}:${low}::1`,
    `2001:0:${high}:${low}::`,
    `2001:0:4136:e378:8000:63bf:${flipped_high}:${flipped_low}`,
    `fe80::5efe:${address}`,
  ];
}

/** Every form as a host of a URL or of an SMTP provider; IPv6 addresses in brackets too. */
export function hostileHosts(): string[] {
  const v6 = [...PRIVATE_V6, ...PRIVATE_V4.flatMap(embeddedForms)];
  const names = [
    'localhost',
    'LOCALHOST',
    'localhost.',
    'x.localhost',
    'inside.example',
    'ⅼocalhost',
    'loc%61lhost',
  ];
  return [...PRIVATE_V4.flatMap(v4Forms), ...v6, ...v6.map((address) => `[${address}]`), ...names];
}
