import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { asExtensions } from '../../src/http/openapi-extensions.ts';
import { RFC_OF_UUID } from '../../src/http/openapi-schemas.ts';
import { closed, dereferenced } from './dereferenced.ts';

type Json = Record<string, unknown>;

const text = { type: 'string' };
const object = (properties: Json, required = Object.keys(properties), more: Json = {}) => ({
  type: 'object',
  properties,
  required,
  ...more,
});
const Grant = object({ id: text, status: text, amount: text });
const GRANT = { $ref: '#/components/schemas/Grant' };

it('an object that has all fields of a named one is that one and the others, also where it has no name', () => {
  const history = { type: 'array', items: text };
  const extended = object({ ...Grant.properties, history }, undefined, { description: 'With history' });
  const { Whole, Many } = asExtensions({
    Grant,
    Whole: extended,
    Many: object({ data: { type: 'array', items: extended } }),
  });
  expect(Whole).toEqual({ description: 'With history', allOf: [GRANT, object({ history })] });
  expect(Many).toMatchObject({ properties: { data: { items: Whole } } });
});

it.each<[string, Json]>([
  ['has another meaning of a field', object({ ...Grant.properties, id: { type: 'integer' }, more: text })],
  ['need not have a field', object({ ...Grant.properties, more: text }, ['id', 'more'])],
  ['has mostly other fields', object({ ...Grant.properties, a: text, b: text, c: text, d: text })],
  [
    'has no other fields',
    object({ ...Grant.properties, more: text }, undefined, { additionalProperties: false }),
  ],
  ['is the named one itself', Grant],
])('a schema that %s stays as it is', (_what, Other) => {
  expect(asExtensions({ Grant, Other })).toEqual({ Grant, Other });
});

it('an answer with a field that is not documented is a fault, at each depth', () => {
  const Whole = object({ ...Grant.properties, rows: { type: 'array', items: object({ at: text }) } });
  const document = { paths: {}, components: { schemas: asExtensions({ Grant, Whole }) } };
  const { components } = dereferenced(document) as typeof document;
  const validate = new Ajv2020({ strict: false }).compile(closed(components.schemas['Whole']) as object);
  const answer = { id: 'g', status: 's', amount: '1', rows: [{ at: 'now' }] };
  expect(validate(answer)).toBe(true);
  expect(validate({ ...answer, more: 1 })).toBe(false);
  expect(validate({ ...answer, rows: [{ at: 'now', more: 1 }] })).toBe(false);
});

it('the short pattern of a UUID allows what zod allows', () => {
  const documented = new Ajv2020({
    strict: false,
    formats: { uuid: /^[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}$/i },
  }).compile({
    format: 'uuid',
    pattern: RFC_OF_UUID,
  });
  const [zero, last] = ['0', 'f'].map((digit) => digit.repeat(32));
  const digits = '0123456789abcdefABCDEF'.split('');
  const version = digits.map((digit) => `018f00000000${digit}0008000000000000015`);
  const variant = digits.map((digit) => `018f000000007000${digit}000000000000015`);
  const texts = [
    zero,
    last,
    last?.toUpperCase(),
    `0${last?.slice(1)}`,
    `f${zero?.slice(1)}`,
    ...version,
    ...variant,
  ];
  for (const plain of texts) {
    const id = String(plain).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    expect(documented(id), id).toBe(z.uuid().safeParse(id).success);
  }
});
