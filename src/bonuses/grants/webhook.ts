import { z } from 'zod';
import { nameSchemas, timestampWithOffset } from '../../http/field-schemas.ts';
import { ApiError, validationError } from '../../errors.ts';
import type { AnyEndpoint } from '../../http/endpoint.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { SANDBOX_SLUG } from '../../adapters/platform.ts';
import type { Inbound, InboundLot } from '../../adapters/apply-inbound.ts';
import { adapterWebhook, type InboundDeps } from '../../adapters/inbound.ts';
import { moveOf, writeMoves, type GrantReport, type Move } from './apply.ts';
import { factsOf, type GrantRow } from './grant-row.ts';
import { lockFree, lockGrant } from './queries.ts';
import { selectExisting } from './reserve-queries.ts';
import { EVENT_NAMES, GRANT_STATUSES, type GrantEventName, type GrantStatus } from './transition.ts';

const amount = z
  .union([z.int().min(0), z.string().regex(/^\d{1,38}$/)])
  .transform((digits) => BigInt(digits));
const moment = timestampWithOffset.transform((text) => Date.parse(text));

/** `data` of the events; fields that an event does not have are ignored. */
const eventData = z.object({
  amount: amount.optional(),
  credited_at: moment.optional(),
  expires_at: moment.optional(),
  winnings: amount.optional(),
  total_wagered: amount.optional(),
  wagering_required: amount.optional(),
  completed_at: moment.optional(),
  released_amount: amount.optional(),
  reason: z.string().max(500).optional(),
  code: z.string().max(200).optional(),
  message: z.string().max(2_000).optional(),
});

/** What `data` of an event must have. */
const REQUIRED: Readonly<Partial<Record<GrantEventName, readonly (keyof z.infer<typeof eventData>)[]>>> = {
  'bonus.wagered': ['total_wagered'],
  'bonus.rejected': ['code', 'message'],
};

/** The body of a bonus event (spec part 4). */
const bonusEvent = z.object({
  event: z
    .string()
    .regex(/^bonus\.[a-z0-9_]{1,60}$/, 'must be the name of a bonus event, such as bonus.completed'),
  event_id: z.guid().toLowerCase(),
  ts: timestampWithOffset,
  grant_id: z.guid().toLowerCase(),
  platform_bonus_id: z.string().min(1).max(200),
  data: z.record(z.string(), z.unknown()),
});
type BonusEvent = z.infer<typeof bonusEvent>;

const answer = z.object({
  received: z.literal(true),
  applied: z.boolean(),
  new_status: z.enum(GRANT_STATUSES),
});
nameSchemas({ BonusEventAnswer: answer });

/** Other names that platforms use for events. */
const ALIASES: Readonly<Record<string, GrantEventName>> = {
  'bonus.activated': 'bonus.credited',
  'bonus.progress': 'bonus.wagered',
};

/** `POST /v1/adapters/:slug/webhooks/bonus-events` (spec part 4). */
export function bonusEventsEndpoint(deps: InboundDeps): AnyEndpoint {
  return adapterWebhook(deps, {
    name: 'bonus-events',
    summary: 'Bonus events of a casino platform; a repeated event_id has no further effect',
    schema: bonusEvent,
    response: answer,
    errors: [],
    prepare: (tx, { tenant_id, project_id, event }) =>
      lockGrant(tx, { tenant_id, project_id, grant_id: event.grant_id }),
    apply: async (tx, call, grant) => {
      const decided = decideBonusEvent(call, grant);
      if (decided.move !== undefined) await writeMoves(tx, [decided.move]);
      return decided.answer;
    },
    lot: beginLot,
    committed: ({ adapter, event }) => {
      if (nameOf(event.event) === undefined) deps.metrics.webhookUnknownEvents.inc({ adapter: adapter.slug });
    },
  });
}

type Answer = z.infer<typeof answer>;

/** Locks the grants of the events that nobody holds, and decides about them one after the other. */
async function beginLot(
  tx: Tx,
  calls: readonly Inbound<BonusEvent>[],
): Promise<InboundLot<BonusEvent, Answer>> {
  const [first] = calls;
  if (first === undefined) throw new Error('a lot needs an event');
  const { tenant_id, project_id } = first;
  const ids = calls.map(({ event }) => event.grant_id);
  const rows = await lockFree(tx, { tenant_id, project_id }, ids);
  const grants = new Map(rows.map((row) => [row.grant_id, row]));
  const missing = [...new Set(ids)].filter((grant_id) => !grants.has(grant_id));
  const held =
    missing.length === 0
      ? new Set<string>()
      : await selectExisting(
          tx,
          missing.map((grant_id) => ({ tenant_id, project_id, grant_id })),
        );
  const moves: Move[] = [];
  return {
    apply: (call) => {
      const { grant_id } = call.event;
      if (held.has(grant_id)) return undefined;
      const decided = decideBonusEvent(call, grants.get(grant_id));
      if (decided.move !== undefined) {
        moves.push(decided.move);
        grants.set(grant_id, decided.move.grant);
      }
      return decided.answer;
    },
    write: () => writeMoves(tx, moves),
  };
}

/** What an event makes of a grant, of which nothing is written. Throws an ApiError. */
function decideBonusEvent(
  { adapter, event, received_at }: Inbound<BonusEvent>,
  grant: GrantRow | undefined,
): { answer: Answer; move?: Move } {
  // A grant of another adapter of the project is as unknown as one of another tenant. The built-in sandbox reports
  // nothing itself: what the project's platform says of such a grant is all that there is.
  if (grant === undefined || ![adapter.slug, SANDBOX_SLUG].includes(grant.adapter_slug)) {
    throw new ApiError('NOT_FOUND', `bonus grant ${event.grant_id} does not exist`);
  }
  const name = nameOf(event.event);
  if (name === undefined) return { answer: said(false, grant.status) };
  const { platform_bonus_id } = factsOf(grant);
  if (platform_bonus_id !== null && platform_bonus_id !== event.platform_bonus_id) {
    const message = `must be ${platform_bonus_id}, as the platform has said of the grant before, not ${event.platform_bonus_id}`;
    throw validationError([{ path: 'platform_bonus_id', message }]);
  }
  const move = moveOf(grant, reportOf(name, event, received_at));
  return { answer: said(move.applied, move.new_status), move };
}

const said = (applied: boolean, new_status: GrantStatus) =>
  ({ received: true, applied, new_status }) as const;

function nameOf(name: string): GrantEventName | undefined {
  const known: readonly string[] = EVENT_NAMES;
  // That a bonus is accepted is an answer, no event.
  if (name === 'bonus.accepted') return undefined;
  return ALIASES[name] ?? (known.includes(name) ? (name as GrantEventName) : undefined);
}

function reportOf(name: GrantEventName, event: BonusEvent, received_at: Date): GrantReport {
  // Some platforms write null for what they do not say.
  const said_of = Object.entries(event.data).filter(([, value]) => value !== null);
  const parsed = eventData.safeParse(Object.fromEntries(said_of));
  if (!parsed.success) {
    throw validationError(
      parsed.error.issues.map(({ path, message }) => ({ path: ['data', ...path].join('.'), message })),
    );
  }
  const { credited_at, expires_at, completed_at, total_wagered, reason, code, ...amounts } = parsed.data;
  const missing = (REQUIRED[name] ?? []).filter((field) => parsed.data[field] === undefined);
  if (missing.length > 0) {
    throw validationError(missing.map((field) => ({ path: `data.${field}`, message: 'is required' })));
  }
  const why = name === 'bonus.rejected' ? code : reason;
  const known = {
    ...amounts,
    total_wagered,
    credited_ms: credited_at,
    expires_ms: expires_at,
    completed_ms: completed_at,
    reason: why,
  };
  const given = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined));
  return {
    event: { ...given, name, at_ms: Date.parse(event.ts), platform_bonus_id: event.platform_bonus_id },
    source: 'webhook',
    event_id: event.event_id,
    received_at,
    data: event.data,
  };
}
