import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { effectiveRules } from '../../../src/tenants/licence/effective.ts';
import { violations } from '../../../src/tenants/licence/evaluate.ts';
import { messageRulesOf } from '../../../src/tenants/licence/message-gate.ts';
import { JURISDICTIONS, RISK_LEVELS, RULE_PRODUCTS } from '../../../src/tenants/licence/rule.ts';
import { recipientOf, verdictSql, type Gate } from '../../../src/engage/messaging/gate-queries.ts';
import { connectPool } from '../../../src/platform/postgres/pool.ts';
import { textArray } from '../../../src/platform/postgres/arrays.ts';
import { CHANNELS } from '../../../src/tenants/config/channels.ts';
import { LICENCE_RULES } from '../../../src/tenants/licence/rules.ts';
import { player, RULE_EXAMPLES } from '../../tenants/licence/rule-examples.ts';
import { runs } from '../../engines/effort.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

// The gate is compiled from the rules of the licence; the evaluator of the rules is its oracle.

const NOW = new Date('2026-11-22T12:00:00Z');

let postgres: Awaited<ReturnType<typeof openTestPostgres>>;
let sql: ReturnType<typeof connectPool>;
beforeAll(async () => {
  postgres = await openTestPostgres({ prepared: true });
  sql = connectPool(postgres.url);
});
afterAll(async () => {
  await sql?.end({ timeout: 5 });
  await postgres?.close();
});

type Attributes = Record<string, unknown>;

/** The verdicts of the gate on players with these attributes, who have every address. */
async function verdictsOn(gate: Gate, product: string | null, players: readonly Attributes[]) {
  const rows = await sql.begin(
    (tx) => tx<{ verdict: string | null }[]>`
      select ${verdictSql(tx, gate, recipientOf(tx, gate.channel), tx`${product}::text`)} as verdict
      from unnest(${textArray(players.map((attributes) => JSON.stringify(attributes)))}::text::text[])
        with ordinality as a (attributes, place)
      cross join lateral (
        select new_id() as tenant_id, new_id() as project_id, new_id() as player_id, null::timestamptz as deleted_at,
          false as self_excluded, 'active' as status, null::timestamptz as cooldown_until, 'a@b.co' as email,
          '+35699' as phone, 'a@b.co' as email_key, '35699' as sms_key, 'token' as push_key, null::text as timezone, a.attributes::jsonb as custom_attributes) p
      order by a.place`,
  );
  return rows.map(({ verdict }) => verdict);
}

const YES = [true, 1, 'true', 'yes', '1'];
const consents = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<unknown>(...YES) },
  fc.constantFrom<unknown>(false, 0, 'no', 'false', null, [], ['casino'], '', 'YES'),
);
const PRODUCTS = ['casino', 'betting', 'bingo', 'lottery'] as const;
const byProduct = fc.record(
  Object.fromEntries(PRODUCTS.map((product) => [product, consents])) as Record<string, typeof consents>,
  { requiredKeys: [] },
);
const ofChannel = fc.oneof(consents, byProduct);
const channels = fc.record(
  { email: ofChannel, sms: ofChannel, push: ofChannel, 'email.casino': consents, 'sms.betting': consents },
  { requiredKeys: [] },
);
const attributes: fc.Arbitrary<Attributes> = fc
  .record(
    {
      rg_risk: fc.oneof(
        fc.constantFrom<unknown>(...RISK_LEVELS),
        fc.constantFrom<unknown>('none', 'STRONG', null, true, ['strong']),
      ),
      consent: fc.oneof({ weight: 5, arbitrary: channels }, fc.constantFrom<unknown>(true, null, 'yes', [])),
      flat: fc.dictionary(
        fc
          .tuple(fc.constantFrom('email', 'sms', 'push'), fc.constantFrom('', ...PRODUCTS))
          .map(([channel, product]) => `consent.${channel}${product === '' ? '' : `.${product}`}`),
        ofChannel,
        { maxKeys: 8 },
      ),
    },
    { requiredKeys: ['flat'] },
  )
  .map(({ flat, ...rest }) => ({ push_token: 'token', ...flat, ...rest }));

const isObject = (value: unknown): value is Attributes =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What is said at any of these paths: no wins over yes, an object or null says nothing. */
function said(of: Attributes, paths: readonly (readonly string[])[]): boolean | undefined {
  const values = paths
    .map((path) =>
      path.reduce<unknown>(
        (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : null),
        of,
      ),
    )
    .filter((value) => value !== null && !isObject(value));
  return values.length === 0 ? undefined : values.every((value) => YES.includes(value as never));
}

const consentsOf = (of: Attributes, channel: string) => ({
  [channel]: said(of, [[`consent.${channel}`], ['consent', channel]]),
  ...Object.fromEntries(
    PRODUCTS.map((product) => [
      `${channel}.${product}`,
      said(of, [
        [`consent.${channel}.${product}`],
        ['consent', `${channel}.${product}`],
        ['consent', channel, product],
        [`consent.${channel}`, product],
      ]),
    ]),
  ),
});

const severity = fc.constantFrom(undefined, 'warn' as const);

it('the gate refuses a message on a bonus exactly when a rule of the licence is broken', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        jurisdiction: fc.oneof(fc.constant('ukgc' as const), fc.constantFrom(...JURISDICTIONS, null)),
        loosened: fc.record({
          ukgc_marketing_consent: severity,
          ukgc_at_risk: severity,
          ontario_marketing_consent: severity,
        }),
        channel: fc.constantFrom(...CHANNELS),
        product: fc.constantFrom(...RULE_PRODUCTS, null),
        consent_required: fc.boolean(),
        players: fc.array(attributes, { minLength: 1, maxLength: 60 }),
      }),
      async ({ jurisdiction, loosened, channel, product, consent_required, players }) => {
        const overrides = Object.fromEntries(
          Object.entries(loosened).map(([id, level]) => [id, level && { severity: level, reason: 'a test' }]),
        );
        const rules = effectiveRules(jurisdiction, overrides, NOW);
        const gate: Gate = {
          channel,
          per_day: null,
          per_week: null,
          consent_required,
          quiet_hours: null,
          licence: messageRulesOf(rules, channel),
          now: NOW,
          quiet_zones: [],
          quiet_until: [],
          known_zones: [],
        };
        const expected = players.map((of) => {
          const consent = consentsOf(of, channel);
          const rg_risk = RISK_LEVELS.find((level) => level === of['rg_risk']) ?? null;
          const facts = { channel, product: product ?? 'any', player: player({ rg_risk, consent }) } as const;
          const broken = product === null ? [] : violations(rules, { at: 'message', facts, now: NOW });
          if (broken.some(({ rule_id }) => rule_id.endsWith('at_risk'))) return 'SKIPPED_AT_RISK';
          const is_refused = !(consent[channel] ?? !consent_required) || broken.length > 0;
          return is_refused ? 'SKIPPED_NO_CONSENT' : null;
        });
        expect(await verdictsOn(gate, product, players)).toEqual(expected);
      },
    ),
    { numRuns: runs(300) },
  );
});

it('an object says something on products alone: the channel is as if nothing was said', async () => {
  const gate = {
    channel: 'email',
    per_day: null,
    per_week: null,
    consent_required: false,
    quiet_hours: null,
  } as const;
  const none = {
    now: NOW,
    quiet_zones: [],
    quiet_until: [],
    known_zones: [],
    licence: messageRulesOf([], 'email'),
  };
  const said_on_casino = [{ consent: { email: { casino: true } } }, { 'consent.email': { casino: false } }];
  expect(await verdictsOn({ ...gate, ...none }, null, said_on_casino)).toEqual([null, null]);
});

it.each(
  Object.entries(RULE_EXAMPLES).flatMap(([id, { accepted, refused }]) => {
    const asked = { accepted, refused };
    return Object.entries(asked).flatMap(([kind, questions]) =>
      questions.flatMap((question) =>
        question.at === 'message' ? [[id, kind, question.facts] as const] : [],
      ),
    );
  }),
)(
  'the gate decides as the example of the rule says: %s %s',
  async (id, kind, { channel, product, player: who }) => {
    if (channel === 'phone') return;
    const of = {
      ...Object.fromEntries(Object.entries(who.consent).map(([name, value]) => [`consent.${name}`, value])),
      rg_risk: who.rg_risk,
      push_token: 'token',
    };
    const rules = LICENCE_RULES.filter((rule) => rule.id === id);
    const timing = { now: NOW, quiet_hours: null, quiet_zones: [], quiet_until: [], known_zones: [] };
    const caps = { per_day: null, per_week: null, consent_required: false };
    const gate: Gate = { channel, ...caps, ...timing, licence: messageRulesOf(rules, channel) };
    // Statuses are asked of the player's own columns, whatever the licence.
    const is_of_status = who.statuses.length > 0;
    const [verdict] = await verdictsOn(gate, product, [of]);
    expect(verdict === null).toBe(kind === 'accepted' || is_of_status);
  },
);
