import { describe, expect, it } from 'vitest';
import { formatMasked } from '../console/src/format/value.ts';
import { mayBePersonal } from '../console/src/format/mask.ts';
import { numberOf } from '../console/src/screens/segments/values.ts';
import { parseExactly } from '../clients/js/src/json.ts';
import { maskPersonal, maskText } from '../src/players/masking.ts';
import { emailHtml, isAddress, oneLine, parseSender } from '../src/engage/messaging/transports/email.ts';
import { jsonMomentMs } from '../src/segments/language/json-moment.ts';
import { readJourney } from '../src/engage/journeys/graph/read-journey.ts';
import { framedHtml } from '../src/engage/templates/preview-frame.ts';
import { mentionsMoney, moneyText } from '../src/engage/templates/money.ts';
import { plainText } from '../src/engage/templates/plain-text.ts';
import { playerScope, type ScopePlayer } from '../src/engage/templates/player-scope.ts';
import { checkTemplate, compileTemplate } from '../src/engage/templates/render.ts';
import { refuseUnstorable } from '../src/http/json-body.ts';
import {
  encodeAccepted,
  encodePlayerEvent,
  groupByEvent,
  headOf,
  identityKey,
  isOfProject,
  receivedAtOf,
  shortOf,
  type PlayerEvent,
} from '../src/ingest/events/envelope.ts';
import { dedupeIdOf } from '../src/ingest/events/dedupe-id.ts';
import { findEventProblem, isEventName, isIdText } from '../src/ingest/events/validate.ts';
import { sentJson, storedJson } from '../src/analytics/stored-json.ts';
import { parseJsonBody } from '../src/ingest/intake/accept.ts';
import { exactJson, growthOf, hasExactNumbers, parseExact } from '../src/platform/exact-json.ts';
import { parseRecord } from '../src/ledger/fold/fold-event.ts';
import { claimOf } from '../src/ledger/money/ledger.ts';
import { parseTextArray, textArray } from '../src/platform/postgres/arrays.ts';
import { isTimeZone } from '../src/platform/time-zone.ts';
import { parseDateOrTime } from '../src/platform/timestamp.ts';
import { trimEnd } from '../src/platform/trim-end.ts';
import { plainAddress } from '../src/players/address-text.ts';
import { identifyBody } from '../src/players/identity/schema.ts';
import { playerAuditOf, type PlayerRow } from '../src/players/profile/player-json.ts';
import { patchPlayerBody } from '../src/players/profile/schema.ts';
import { soughtIds } from '../src/players/profile/search.ts';
import { quoted } from '../src/http/quoted.ts';
import { readDefinition } from '../src/segments/language/definition.ts';
import { changedFields } from '../src/tenants/audit/write.ts';
import { medianCost } from './cost.ts';

// Whatever a text from outside is, nothing that reads it may hold the event loop: a megabyte of each kind of hostile text
// goes through everything that runs on events, attributes and templates.

const BOUND_MS = 20;
/**
 * For a megabyte of numbers that a double does not hold, which JavaScript itself neither parses nor writes: each of up to
 * 200,000 becomes an object. On the reference machine they take up to 70 and 25 ms.
 */
const PARSED_MS = 120;
const WRITTEN_MS = 50;
const LENGTH = 1024 * 1024;

const PARTS = [
  'a',
  '@',
  'a@b.c ',
  '+1',
  '+356 99123456 ',
  'a+123456789 ',
  '＋',
  '00',
  ' 001',
  '1',
  '0',
  '.',
  ' ',
  '\n',
  '\\',
  '"',
  '"@a.b',
  '{{',
  '<a href="',
  '&#',
  '/',
  '😀',
];
const TEXTS = [
  ...PARTS.map((part) => part.repeat(LENGTH / part.length)),
  // What a pattern with an `@` or something else at its end looks for in vain.
  ...['a', ' '].flatMap((part) => [`@${part.repeat(LENGTH)}`, `${part.repeat(LENGTH)}!`]),
];
/** The texts as the parts of one megabyte, for what has several fields. */
const part = (text: string, of: number) => text.slice(0, text.length / of);

const project = {
  tenant_id: '0197ab6e-0000-7000-8000-000000000001',
  project_id: '0197ab6e-0000-7000-8000-000000000002',
};
const stamp = {
  ...project,
  ingestion_id: '0197ab6e-0000-7000-8000-000000000003',
  environment: 'dev',
  received_at_ms: 1_700_000_000_000,
};
const context = { now_ms: stamp.received_at_ms, hasCurrency: () => true };
const at = new Date(0);

const eventOf = (text: string) => ({
  event: 'custom_x',
  anonymous_id: 'e',
  properties: { m: '@', t: text, list: [text.slice(0, 1_000)] },
});
const accepted = (text: string) => encodeAccepted(stamp, 0, JSON.stringify(eventOf(text)));
const resolved = (text: string): PlayerEvent => ({
  ...project,
  event: 'custom_x',
  player_id: stamp.ingestion_id,
  occurred_at: 1,
  received_at: 1,
  ingestion_id: stamp.ingestion_id,
  event_index: 0,
  base_amount: null,
  base_payout: null,
  properties: { t: text },
});
const playerOf = (text: string) =>
  ({
    player_id: stamp.ingestion_id,
    external_id: text,
    email: text,
    phone: text,
    anonymous_ids: JSON.stringify([text]),
    custom_attributes: JSON.stringify({ t: text }),
    created_at: at,
    updated_at: at,
  }) as unknown as PlayerRow;
const template = (text: string) =>
  ({ channel: 'email', subject: 's', preheader: null, body: text, data: {} }) as const;

/** Runs the work; what it refuses is refused. */
const tried = (work: () => unknown) => {
  try {
    work();
  } catch {
    // As meant: only the time counts.
  }
};

/** By name: what is prepared from a text of a megabyte, and then measured. */
const FUNCTIONS: Record<string, (text: string) => () => unknown> = {
  // Events
  parseJsonBody: (text) => {
    const raw = Buffer.from(JSON.stringify(eventOf(text)));
    return () => parseJsonBody(raw);
  },
  findEventProblem: (text) => () => findEventProblem(eventOf(text), context),
  'findEventProblem, of each field': (text) => () => {
    const one = part(text, 6);
    findEventProblem({ event: one, anonymous_id: one, external_id: one }, context);
    findEventProblem({ event: 'custom_x', anonymous_id: 'e', timestamp: one }, context);
    findEventProblem(
      { event: 'deposit_confirmed', anonymous_id: 'e', properties: { amount: one, currency: one } },
      context,
    );
    const bet = { bet_id: 'b', currency: 'EUR', movement_id: one, payout: one, bonus_payout: one };
    findEventProblem({ event: 'bet_won', anonymous_id: 'e', properties: bet }, context);
    findEventProblem({ event: 'login', anonymous_id: 'e', properties: { dedupe_id: one } }, context);
    dedupeIdOf('custom_x', { dedupe_id: one });
  },
  'names, ids and times': (text) => () => [
    isEventName(`custom_${text}`),
    isIdText(text),
    parseDateOrTime(text),
    jsonMomentMs(text),
    identityKey(project.project_id, { event: 'custom_x', anonymous_id: text }),
  ],
  encodePlayerEvent: (text) => () => encodePlayerEvent(resolved(text)),
  'heads of lines': (text) => {
    const lines = [accepted(text), encodePlayerEvent(resolved(text)), text];
    return () => {
      groupByEvent(lines.map((value) => ({ value })));
      return lines.map((line) => [
        headOf(line),
        shortOf(line),
        receivedAtOf(line),
        isOfProject(line, project),
      ]);
    };
  },
  parseRecord: (text) => {
    const value = accepted(text);
    return () => parseRecord({ offset: 0n, key: '', value });
  },
  claimOf: (text) => () =>
    tried(() => claimOf('deposit_confirmed', { amount: text, currency: 'EUR', transaction_id: text }, 1)),
  maskPersonal: (text) => {
    const json = JSON.stringify(eventOf(text).properties);
    return () => maskPersonal(json);
  },
  'maskPersonal, under a personal name': (text) => {
    const json = JSON.stringify({ email: { [part(text, 2)]: part(text, 2) } });
    return () => maskPersonal(json);
  },
  'what the console shows': (text) => () => [formatMasked({ t: text }), maskText(text), mayBePersonal(text)],
  parseExactly: (text) => {
    const json = JSON.stringify({ t: text, n: 1 });
    return () => parseExactly(json);
  },
  // Attributes and ids
  refuseUnstorable: (text) => () => tried(() => refuseUnstorable({ [part(text, 2)]: part(text, 2) })),
  identifyBody: (text) => () => {
    const one = part(text, 8);
    const traits = { email: one, phone: one, telegram_id: one, timezone: one, [one]: one };
    identifyBody.safeParse({ anonymous_id: one, external_id: one, player_id: one, traits });
  },
  patchPlayerBody: (text) => () => {
    const one = part(text, 5);
    patchPlayerBody.safeParse({ email: one, phone: one, status: one, custom_attributes: { [one]: one } });
  },
  playerAuditOf: (text) => {
    const row = playerOf(part(text, 5));
    return () => playerAuditOf(row, project);
  },
  changedFields: (text) => () => {
    const one = part(text, 4);
    changedFields({ before: { t: one, at }, after: { t: `${one}!`, at } });
  },
  plainAddress: (text) => () => plainAddress(`mailto:${text}`),
  soughtIds: (text) => () => soughtIds(part(text, 4)),
  'text arrays': (text) => () => parseTextArray(textArray(Array(1_000).fill(part(text, 4_096)))),
  trimEnd: (text) => () => [trimEnd(text, '/'), trimEnd(text, '0')],
  numberOf: (text) => () => numberOf(part(text, 8), 2),
  readDefinition: (text) => () =>
    tried(() => readDefinition({ operator: part(text, 2), conditions: [{ type: part(text, 2) }] })),
  quoted: (text) => () => quoted(text),
  readJourney: (text) => () => {
    const one = part(text, 4);
    const trigger = { kind: 'event', event: one, where: { [one]: one } };
    tried(() => readJourney({ trigger, graph: { start_node_id: one, nodes: [] }, settings: {} }));
  },
  // Templates
  compileTemplate: (text) => () => tried(() => compileTemplate(template(text))),
  checkTemplate: (text) => () => [
    tried(() => checkTemplate(template(text))),
    tried(() => checkTemplate(template(`{{ ${part(text, 200)} }}`))),
  ],
  isTimeZone: (text) => () => isTimeZone(text),
  'money of templates': (text) => () => [
    mentionsMoney([text]),
    tried(() => moneyText(undefined, text, text)),
  ],
  plainText: (text) => () => plainText(text),
  emailHtml: (text) => () => emailHtml({ body: part(text, 2), preheader: part(text, 2) }),
  framedHtml: (text) => () => framedHtml('sms', { body: text }),
  playerScope: (text) => {
    const player = { ...playerOf(text), custom_attributes: { t: text } } as unknown as ScopePlayer;
    return () => playerScope(player);
  },
  'addresses of messages': (text) => () => [isAddress(text), oneLine(text), parseSender(part(text, 4))],
};

describe.each(Object.entries(FUNCTIONS))('%s', (_name, prepare) => {
  it(`takes at most ${BOUND_MS} ms for a megabyte of any text`, () => {
    const slow = TEXTS.flatMap((text) => {
      const cost_ms = medianCost(prepare(text), BOUND_MS);
      return cost_ms <= BOUND_MS ? [] : [`${JSON.stringify(text.slice(0, 12))}…: ${cost_ms.toFixed(0)} ms`];
    });
    expect(slow).toEqual([]);
  });
});

/** Properties of one megabyte, full of numbers. */
const repeated = (part: string) => part.repeat(LENGTH / part.length).slice(0, -1);
const numbered = (value: string) =>
  repeated(Array.from({ length: 1_000 }, (_, i) => `"k${i}":${value},`).join(''));
const NUMBERS: Record<string, string> = {
  ...Object.fromEntries(
    [
      '1',
      '0.5',
      '-0',
      '1e1',
      '9e15',
      '1e-9',
      '0.30000000000000004',
      '1e20',
      '1e-16383',
      '1e400',
      '25000000000000000000001',
      '0.1234567890123456789',
      '[[1e20]]',
      '{"n":1e20}',
      // A number alone may have as many digits.
      `${'7'.repeat(300)}.${'7'.repeat(99)}`,
    ].map((number) => [number.slice(0, 30), `{"l":[${repeated(`${number},`)}]}`]),
  ),
  'one number': `{"l":${'7'.repeat(LENGTH)}}`,
  'zeros before it': `{"l":0.${'0'.repeat(LENGTH)}1}`,
  'keys and integers': `{${numbered('25000000000000000000001')}}`,
  'own integers and those of a list': `{${Array.from({ length: 1_000 }, (_, i) => `"k${i}":25000000000000000000001`).join()},"l":[${repeated('25000000000000000000001,')}]}`,
};

/** By name: what runs on numbers, prepared from properties of a megabyte; and its bound in ms where it is another. */
const ON_NUMBERS: Record<string, [prepare: (text: string) => () => unknown, bound_ms?: number]> = {
  hasExactNumbers: [(text) => () => hasExactNumbers(text)],
  findEventProblem: [
    (text) => {
      const event = { event: 'custom_x', anonymous_id: 'e', properties: parseExact(text) };
      return () => findEventProblem(event, context);
    },
  ],
  refuseUnstorable: [
    (text) => {
      const value = parseExact(text);
      return () => tried(() => refuseUnstorable(value));
    },
  ],
  maskPersonal: [(text) => () => maskPersonal(text)],
  growthOf: [
    (text) => {
      const value = parseExact(text);
      return () => growthOf(value);
    },
  ],
  parseExact: [(text) => () => parseExact(text), PARSED_MS],
  parseRecord: [
    (text) => {
      const value = encodeAccepted(stamp, 0, `{"event":"custom_x","anonymous_id":"e","properties":${text}}`);
      return () => parseRecord({ offset: 0n, key: '', value });
    },
    PARSED_MS,
  ],
  storedJson: [
    (text) => {
      const value = parseExact(text) as Record<string, unknown>;
      return () => storedJson(value);
    },
    WRITTEN_MS,
  ],
  exactJson: [
    (text) => {
      const value = parseExact(text) as Record<string, unknown>;
      return () => exactJson(value);
    },
    WRITTEN_MS,
  ],
  sentJson: [
    (text) => {
      const value = storedJson(parseExact(text) as Record<string, unknown>);
      return () => sentJson(value);
    },
    PARSED_MS,
  ],
};

describe.each(Object.entries(ON_NUMBERS))('%s', (_name, [prepare, bound_ms = BOUND_MS]) => {
  it(`takes at most ${bound_ms} ms for a megabyte of any numbers`, () => {
    const slow = Object.entries(NUMBERS).flatMap(([name, text]) => {
      const cost_ms = medianCost(prepare(text), bound_ms);
      return cost_ms <= bound_ms ? [] : [`${name}: ${cost_ms.toFixed(0)} ms`];
    });
    expect(slow).toEqual([]);
  });
});
