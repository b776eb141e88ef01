import { z } from 'zod';
import { customAttributes } from '../../../players/profile/schema.ts';
import { MAX_ATTRIBUTES_BYTES } from '../../../players/profile/profile-patch.ts';
import {
  boundedObject,
  coded,
  eventName,
  flag,
  MAX_REST_MS,
  minuteOfDay,
  name,
  nodeId,
  oneOf,
  playerTimeZone,
  recordId,
  reference,
  safeText,
  weekDays,
  wholeNumber,
} from './fields.ts';
import { isSealed, type HeaderValue } from './webhook-headers.ts';
import type { NodeType } from './shapes.ts';

// The nodes as callers write them. read-node.ts reads what a schema cannot: filters and conditions.

const MAX_BRANCHES = 10;
const MAX_WEIGHT = 1_000_000;
const MAX_URL = 2_000;
const MAX_HEADERS = 20;
const MAX_HEADER = 1_000;
/** Of the 20 KB of a webhook's body. */
const MAX_DATA_BYTES = 12 * 1_024;
/** Headers that belong to the signature, to the body or to the connection. */
const OWN_HEADERS = [
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'transfer-encoding',
  'connection',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'keep-alive',
  'user-agent',
];

const ON_ERROR = ['fail', 'continue'] as const;
const named = { id: nodeId, name: name.optional() };
const leading = { ...named, next: nodeId };

const local = { days: weekDays.optional(), timezone: playerTimeZone };
const wait_until = {
  time: z.strictObject({ ...leading, type: z.literal('wait_until'), ...local, local_time: minuteOfDay }),
  window: z.strictObject({
    ...leading,
    type: z.literal('wait_until'),
    ...local,
    window: z
      .strictObject({ from: minuteOfDay, to: minuteOfDay })
      .refine(({ from, to }) => from !== to, { error: '`from` and `to` must differ' }),
  }),
  at: z.strictObject({
    ...leading,
    type: z.literal('wait_until'),
    at: reference,
    offset_ms: wholeNumber(-MAX_REST_MS, MAX_REST_MS).default(0),
    past: oneOf(['continue', 'exit']),
  }),
} as const;

const branchRule = { error: `must be a list of 1 to ${MAX_BRANCHES} branches` };
const splitRule = { error: `must be a list of 2 to ${MAX_BRANCHES} branches` };
const NAMES_RULE = 'names of branches must differ';

function haveDifferentNames(branches: readonly { name?: string | undefined }[]): boolean {
  const names = branches.map((branch) => branch.name).filter((one) => one !== undefined);
  return new Set(names).size === names.length;
}

const weight = z
  .unknown()
  .refine((value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_WEIGHT, {
    ...coded('WEIGHTS_INVALID', `must be a whole number from 0 to ${MAX_WEIGHT}`),
  })
  .transform(Number);

const HEADERS_RULE =
  `must be an object of at most ${MAX_HEADERS} headers with values of at most ${MAX_HEADER} printable characters; ` +
  'those of the connection, of the content and X-Service-… cannot be set';
const headers = z
  .record(z.string(), z.string().or(z.custom<HeaderValue>(isSealed)), { error: HEADERS_RULE })
  .refine((value) => Object.keys(value).length <= MAX_HEADERS && Object.entries(value).every(isHeader), {
    error: HEADERS_RULE,
  });

/** Whether a header may have the value; a sealed one was checked before it was stored. */
function isHeader([header, value]: readonly [string, HeaderValue]): boolean {
  const lower = header.toLowerCase();
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(lower)) return false;
  if (OWN_HEADERS.includes(lower) || /^(x-service-|proxy-|webhook-)/.test(lower)) return false;
  return typeof value !== 'string' || (value.length <= MAX_HEADER && /^[\x20-\x7e]*$/.test(value));
}

const AMOUNT_RULE =
  'must be a whole number in the smallest unit, or a path such as "context.trigger_payload.amount"';

/** The schema of each type of node but `wait_until`, which has three. */
export const NODE_SCHEMAS = {
  wait: z.strictObject({ ...leading, type: z.literal('wait'), duration_ms: wholeNumber(0, MAX_REST_MS) }),
  wait_for_event: z.strictObject({
    ...leading,
    type: z.literal('wait_for_event'),
    event: eventName,
    where: z.unknown().optional(),
    timeout_ms: wholeNumber(1, MAX_REST_MS),
    timeout_next: nodeId,
  }),
  branch: z.strictObject({
    ...named,
    type: z.literal('branch'),
    branches: z
      .array(
        z.strictObject({ name: name.optional(), condition: z.unknown().optional(), next: nodeId }),
        branchRule,
      )
      .min(1, branchRule)
      .max(MAX_BRANCHES, branchRule)
      .refine(haveDifferentNames, { error: NAMES_RULE }),
    else_next: nodeId,
  }),
  split: z.strictObject({
    ...named,
    type: z.literal('split'),
    branches: z
      .array(z.strictObject({ name: name.optional(), weight, next: nodeId }), splitRule)
      .min(2, splitRule)
      .max(MAX_BRANCHES, splitRule)
      .refine(haveDifferentNames, { error: NAMES_RULE })
      .refine(
        (branches) => branches.some((branch) => branch.weight > 0),
        coded('WEIGHTS_INVALID', 'at least one weight must be over 0'),
      ),
  }),
  send_message: z.strictObject({
    ...leading,
    type: z.literal('send_message'),
    template_id: recordId,
    provider_id: recordId,
    quiet_hours: oneOf(['skip', 'defer']).default('skip'),
    on_error: oneOf(ON_ERROR).default('fail'),
  }),
  update_player: z.strictObject({
    ...leading,
    type: z.literal('update_player'),
    set: z.strictObject({
      traits: customAttributes
        .refine((traits) => Object.keys(traits).length > 0, { error: 'must have at least one trait' })
        .refine((traits) => Buffer.byteLength(JSON.stringify(traits)) <= MAX_ATTRIBUTES_BYTES, {
          error: `must be at most ${MAX_ATTRIBUTES_BYTES} bytes of JSON`,
        }),
    }),
  }),
  grant_bonus: z.strictObject({
    ...leading,
    type: z.literal('grant_bonus'),
    template_id: recordId,
    deposit_amount: z.union([z.int().min(1), reference], { error: AMOUNT_RULE }).optional(),
    on_error: oneOf(ON_ERROR).default('fail'),
  }),
  call_webhook: z.strictObject({
    ...leading,
    type: z.literal('call_webhook'),
    url: safeText(MAX_URL),
    headers: headers.default({}),
    data: boundedObject(MAX_DATA_BYTES).default({}),
    timeout_ms: wholeNumber(1, 30_000).default(10_000),
    retry: z
      .strictObject({
        max_attempts: wholeNumber(1, 10).default(5),
        backoff_ms: wholeNumber(1, 60_000).default(1_000),
      })
      .default({ max_attempts: 5, backoff_ms: 1_000 }),
    on_error: oneOf(ON_ERROR).default('continue'),
    wait_for_response: flag.default(true),
    save_as: nodeId.optional(),
  }),
  end: z.strictObject({ ...named, type: z.literal('end'), reason: name.optional() }),
} as const satisfies Partial<Record<NodeType, z.ZodType>>;

/** The schema of `wait_until` by the field that says what is waited for; a node has one of the three. */
export const WAIT_UNTIL_SCHEMAS = {
  local_time: wait_until.time,
  window: wait_until.window,
  at: wait_until.at,
} as const;

/** Every type of node. */
export const NODE_TYPES: readonly NodeType[] = [
  ...(Object.keys(NODE_SCHEMAS) as (keyof typeof NODE_SCHEMAS)[]),
  'wait_until',
];
