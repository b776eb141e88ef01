import { expect, it } from 'vitest';
import { patchPlayerBody } from '../../src/players/profile/schema.ts';
import { createSuppressionBody } from '../../src/engage/messaging/suppressions/schema.ts';
import { emailFault, emptyFault, phoneFault, plainAddress } from '../../src/players/address-text.ts';

it.each([
  ['jane@example.com', 'jane@example.com'],
  [' jane@example.com\u200b', 'jane@example.com'],
  ['\ufeffjane\u00ad@exam\u200bple.com', 'jane@example.com'],
  ['mailto:jane@example.com', 'jane@example.com'],
  ['MAILTO:jane@example.com?subject=Hi', 'jane@example.com'],
  ['\u202atel:+356 9912-3456;ext=7\u202c', '+356 9912-3456'],
  ['sms://+35699123456', '+35699123456'],
  ['\u2068+356 9912 3456\u2069', '+356 9912 3456'],
  ['token:APA91b-x_y', 'token:APA91b-x_y'],
  ['mailto:', ''],
  ['', ''],
])('%j is the address %j', (text, address) => {
  expect(plainAddress(text)).toBe(address);
});

it('is what is stored of players, and what is suppressed', () => {
  const player = patchPlayerBody.parse({ email: 'mailto:jane@example.com\u200b', phone: 'tel:+35699123456' });
  expect(player).toEqual({ email: 'jane@example.com', phone: '+35699123456' });
  expect(createSuppressionBody.parse({ channel: 'email', address: '\u200bjane@example.com' })).toEqual({
    channel: 'email',
    address: 'jane@example.com',
  });
  for (const email of ['mailto:', '\u200b', 'jane', 'a b@example.com'])
    expect(patchPlayerBody.safeParse({ email }).success, email).toBe(false);
});

it.each(['+35699001122', '555-0100', '4670', '(0)20 7946 0003', '99001122 ext. 5', '٠١٢٣٤٥', '07777 777777'])(
  '%j may be a telephone number',
  (text) => {
    expect(phoneFault(text)).toBeUndefined();
  },
);

it.each(['abc', '+356', '000000000', '0000001', '05555', '+11 11', '12 3', 'n/a', 'x@y', '---'])(
  '%j is no telephone number',
  (text) => {
    expect(phoneFault(text)).toMatch(
      /^must be a telephone number|^phone is "n\/a", the text of an empty value/,
    );
  },
);

it.each(['undefined', 'N/A', ' null ', '[object Object]', 'undefined@undefined', '@null', '0'])(
  '%j is the text of an empty value in place of an address',
  (text) => {
    for (const fault of [emailFault(text), phoneFault(text), emptyFault('telegram_id', text)])
      expect(fault).toMatch(
        /the text of an empty value: .* Give null where there is none$|must be a telephone/,
      );
    expect(emptyFault('push_token', text)).toMatch(/^push_token is .* has no push_token there/);
  },
);

it.each(['noreply@x.example', 'null@example.com', '@', 'token', 'id:7'])('%j is not', (text) => {
  expect(emptyFault('address', text)).toBeUndefined();
});
