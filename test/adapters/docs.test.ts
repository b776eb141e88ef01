import { expect, it } from 'vitest';
import { z } from 'zod';
import { readGrant, type Reply } from '../../src/adapters/answers.ts';
import {
  cancelAnswer,
  cancelBody,
  DUPLICATE_GRANT,
  grantAnswer,
  grantBody,
  kycInitiateBody,
  kycUpdateBody,
  statusAnswer,
} from '../../src/adapters/protocol.ts';
import { code, expectSections, table } from '../doc-sections.ts';

// docs/adapter.md repeats the declarations of the protocol. UPDATE_GOLDEN=1 writes its generated sections.

it('docs/adapter.md agrees with the code', () => expectSections('docs/adapter.md', SECTIONS));

interface Json {
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Json[];
  properties?: Record<string, Json>;
  required?: string[];
  format?: string;
}

/** A row per field: its name, whether it may be absent, its type, and what it says. */
function fieldsOf(schema: z.ZodType): string {
  const rows = (json: Json, prefix: string): string[][] =>
    Object.entries(json.properties ?? {}).flatMap(([name, field]) => {
      const optional = json.required?.includes(name) === true ? '' : '?';
      const row = [code(`${prefix}${name}${optional}`), typeOf(field), field.description ?? ''];
      return [row, ...rows(field, `${prefix}${name}.`)];
    });
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json;
  return table(['Field', 'Type', 'Notes'], rows(json, ''));
}

function typeOf({ type, enum: values, const: value, anyOf, format }: Json): string {
  if (value !== undefined) return code(JSON.stringify(value));
  if (values !== undefined) return values.map((one) => code(String(one))).join(', ');
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ');
  return format ?? (Array.isArray(type) ? type.join(' or ') : (type ?? 'any'));
}

const answer = (schema: z.ZodObject) =>
  code(
    `{${Object.entries(schema.shape)
      .map(([name, field]) => (field.safeParse(undefined).success ? `${name}?` : name))
      .join(', ')}}`,
  );

const calls = (): string =>
  table(
    ['Call', 'Request', 'Success'],
    [
      ['grant', code('POST /v1/bonuses/grant'), `200 or 201 ${answer(grantAnswer)}`],
      [
        'cancel',
        code('POST /v1/bonuses/cancel'),
        `200 ${answer(cancelAnswer)}, with the status ${code('cancelled')}`,
      ],
      [
        'status',
        `${code('GET /v1/bonuses/{platform_bonus_id}')}, or ${code('GET /v1/bonuses/by-grant/{grant_id}')} while no id is known`,
        `200 ${answer(statusAnswer)}; 404: the platform has no such bonus`,
      ],
      ['start of KYC', code('POST /v1/kyc/initiate'), `2xx ${code('{provider_ref?}')} or an empty body`],
      ['decision about KYC', code('POST /v1/kyc/update'), `2xx ${code('{provider_ref?}')} or an empty body`],
    ],
  );

/** What the service makes of an answer, by the kind that the code reads it as. */
const MEANINGS: Record<string, string> = {
  credited: 'credited',
  accepted: 'accepted; a webhook reports the credit',
  refused: 'refused: nothing is credited; the operator sees the code',
  duplicate: 'the platform has the bonus: its status decides',
  'unsent credentials':
    'the signature or token is not accepted: nothing was done; repeated later, and a metric reports it',
  'unsent busy': 'nothing was done; repeated later, not before `Retry-After`',
  unknown: 'the outcome is unknown: the status is queried before the call is repeated',
};

const EXAMPLES: readonly (readonly [name: string, status: number, body: object | string])[] = [
  ['2xx, `status` is `credited`', 201, { platform_bonus_id: 'b', status: 'credited' }],
  ['2xx, `status` is `pending`', 201, { platform_bonus_id: 'b', status: 'pending' }],
  ['2xx with another shape, or incomplete', 201, { status: 'done' }],
  ['400 to 499, except the next rows', 422, { code: 'PLAYER_BLOCKED' }],
  [`409 with the code ${code(DUPLICATE_GRANT)}`, 409, { code: DUPLICATE_GRANT }],
  ['409 without a code', 409, {}],
  ['401 or 403 without a code', 401, {}],
  ['408, 425, 429', 429, {}],
  ['3xx', 302, {}],
  ['5xx', 503, {}],
];

function answers(): string {
  const rows = EXAMPLES.map(([name, status, body]) => {
    const reply: Reply = { kind: 'answered', status, text: JSON.stringify(body), retry_after_ms: null };
    const read = readGrant(reply);
    const kind = read.kind === 'unsent' ? `unsent ${read.reason}` : read.kind;
    expect(Object.keys(MEANINGS)).toContain(kind);
    return [name, MEANINGS[kind] ?? ''];
  });
  const without = [
    ['no connection, no TLS, no address', 'nothing was sent; repeated later'],
    ['no answer in time, a closed connection, over 64 KiB', MEANINGS['unknown'] ?? ''],
  ];
  return table(['Answer', 'What it means'], [...rows, ...without]);
}

const SECTIONS: Record<string, () => string> = {
  calls,
  grant: () => fieldsOf(grantBody),
  cancel: () => fieldsOf(cancelBody),
  kyc: () =>
    `For ${code('initiate')}:\n\n${fieldsOf(kycInitiateBody)}\n\nFor ${code('update')}:\n\n${fieldsOf(kycUpdateBody)}`,
  granted: () => fieldsOf(grantAnswer),
  status: () => fieldsOf(statusAnswer),
  answers,
};
