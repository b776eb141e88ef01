import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  addressVerdictSql,
  codesSql,
  recipientOf,
  verdictSql,
  type Gate,
} from '../../../src/engage/messaging/gate-queries.ts';
import { selectAddressed } from '../../../src/protection/fence-queries.ts';
import { SKIP_CODES, type SkipCode } from '../../../src/engage/messaging/send-row.ts';
import { plainAddress } from '../../../src/players/address-text.ts';
import { textArray } from '../../../src/platform/postgres/arrays.ts';
import { connectPool } from '../../../src/platform/postgres/pool.ts';
import { exclusionsOfPlayers } from '../../../src/protection/exclusions/merge-queries.ts';
import { mergePlayer } from '../../../src/players/identity/merge-queries.ts';
import { softDeletePlayer } from '../../../src/players/profile/queries.ts';
import { CHANNELS, type Channel } from '../../../src/tenants/config/channels.ts';
import { runs } from '../../engines/effort.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

// An exclusion, a ban and a break are of a person. The oracle goes through all players, and knows addresses by what they
// are drawn from, not by how they are written.

const NOW = new Date('2026-11-22T12:00:00Z');
const hours = (count: number) => new Date(NOW.getTime() + count * 3_600_000);

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

/** The spellings of each address. */
const SPELLINGS: Record<Channel, readonly (readonly string[])[]> = {
  email: [
    ['ann@x.example', 'Ann@X.example', 'ANN@x.EXAMPLE', 'mailto:ann@x.example\u200b'],
    ['bob@x.example'],
    ['bob@x.example.org'],
  ],
  sms: [
    ['+49 151 2345', '0049151-2345', '49 (0)151 2345', '491512345', '\u202atel:+491512345;ext=1'],
    ['+35679000001', '00356 7900 0001', '(356) 7900/0001'],
    ['+356790000010'],
    ['nobody', 'NOBODY'],
  ],
  push: [['token-A', 'Token-a'], ['token-B'], ['x'.repeat(3_000), 'X'.repeat(3_000)]],
};

/** An address by its place in the list, and one of its spellings; null: none. */
type Drawn = { of: number; as: number } | null;
const addressOf = (channel: Channel): fc.Arbitrary<Drawn> =>
  fc.option(
    fc
      .nat(SPELLINGS[channel].length - 1)
      .chain((of) =>
        fc.record({ of: fc.constant(of), as: fc.nat((SPELLINGS[channel][of]?.length ?? 1) - 1) }),
      ),
    { freq: 4 },
  );
const written = (channel: Channel, drawn: Drawn) =>
  drawn === null ? null : (SPELLINGS[channel][drawn.of]?.[drawn.as] ?? null);

interface Drafted {
  /** The second project is of the same tenant, the third of another one. */
  project: 0 | 1 | 2;
  email: Drawn;
  sms: Drawn;
  push: Drawn;
  status: 'active' | 'self_excluded' | 'banned' | 'conflict';
  self_excluded: boolean;
  cooldown_h: number | null;
  is_deleted: boolean;
  is_named: boolean;
}
const drafted: fc.Arbitrary<Drafted> = fc.record({
  project: fc.constantFrom(0, 0, 1, 2),
  email: addressOf('email'),
  sms: addressOf('sms'),
  push: addressOf('push'),
  status: fc.constantFrom('active', 'active', 'active', 'conflict', 'self_excluded', 'banned'),
  self_excluded: fc.constantFrom(false, false, false, true),
  cooldown_h: fc.constantFrom(null, null, null, -1, 1, 0),
  is_deleted: fc.constantFrom(false, false, false, true),
  is_named: fc.boolean(),
});

/** Merges by the places of two players in the list; those that cannot be merged are passed over. */
const merging = fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { maxLength: 4 });

/** A person as the oracle knows one: with every address of the players who were merged into it. */
interface Person extends Drafted {
  tenant_id: string;
  project_id: string;
  player_id: string;
  addresses: Record<Channel, Set<number>>;
}

const barsOf = ({ status, self_excluded, cooldown_h }: Drafted): SkipCode[] => [
  ...(self_excluded || status === 'self_excluded' ? (['SKIPPED_SELF_EXCLUDED'] as const) : []),
  ...(status === 'banned' ? (['SKIPPED_BANNED'] as const) : []),
  ...(cooldown_h !== null && cooldown_h > 0 ? (['SKIPPED_COOLDOWN'] as const) : []),
];
const first = (codes: readonly SkipCode[]) => SKIP_CODES.find((code) => codes.includes(code)) ?? null;

/** The first bar of everybody in the tenant whose address it is. */
function expected(
  persons: readonly Person[],
  tenant_id: string,
  channel: Channel,
  of: number,
): SkipCode | null {
  const theirs = persons.filter((one) => one.tenant_id === tenant_id && one.addresses[channel].has(of));
  return first(theirs.flatMap(barsOf));
}

async function insert(drafts: readonly Drafted[]): Promise<Person[]> {
  const [ours, others] = [randomUUID(), randomUUID()];
  const project_ids = [randomUUID(), randomUUID(), randomUUID()];
  const persons = drafts.map((draft): Person => {
    const set = (drawn: Drawn) => new Set(drawn === null ? [] : [drawn.of]);
    return {
      ...draft,
      tenant_id: draft.project === 2 ? others : ours,
      project_id: project_ids[draft.project] ?? '',
      player_id: randomUUID(),
      addresses: { email: set(draft.email), sms: set(draft.sms), push: set(draft.push) },
    };
  });
  const rows = persons.map((one) => {
    const { tenant_id, project_id, player_id, status, self_excluded, cooldown_h, is_named } = one;
    const push_token = written('push', one.push);
    return {
      tenant_id,
      project_id,
      player_id,
      status,
      self_excluded,
      external_id: is_named ? player_id : null,
      email: written('email', one.email),
      phone: written('sms', one.sms),
      custom_attributes: push_token === null ? {} : { push_token },
      cooldown_until: cooldown_h === null ? null : hours(cooldown_h),
      default_currency_code: 'EUR',
      created_at: NOW,
      updated_at: NOW,
    };
  });
  await sql`insert into players ${sql(rows)}`;
  const totals = persons.map(({ tenant_id, project_id, player_id }) => ({
    tenant_id,
    project_id,
    player_id,
    first_seen_at: NOW,
    listed_at: NOW,
    updated_at: NOW,
  }));
  await sql`insert into player_totals ${sql(totals)}`;
  return persons;
}

/** Merges the players of each pair that may be merged; returns who is left. */
async function merge(
  persons: readonly Person[],
  pairs: readonly (readonly [number, number])[],
): Promise<Person[]> {
  let left = [...persons];
  for (const [from, to] of pairs) {
    const [gone, into] = [persons[from], persons[to]];
    if (gone === undefined || into === undefined || gone === into || gone.is_named) continue;
    if (gone.project !== into.project || !left.includes(gone) || !left.includes(into)) continue;
    const { tenant_id, project_id, player_id } = gone;
    const pair = { tenant_id, project_id, player_id, into_player_id: into.player_id };
    await sql.begin((tx) => mergePlayer(tx, pair, NOW, [exclusionsOfPlayers]));
    left = left.filter((one) => one !== gone);
    for (const channel of CHANNELS) {
      for (const of of gone.addresses[channel]) into.addresses[channel].add(of);
      into[channel] ??= gone[channel];
    }
    const was_excluded = [gone, into].some((one) => one.self_excluded);
    // As the profiles are merged: a status without the flag is that of its player alone.
    if (gone.status === 'banned' || into.status === 'banned') into.status = 'banned';
    else if (was_excluded) into.status = 'self_excluded';
    else if (gone.status === 'conflict' || into.status === 'conflict') into.status = 'conflict';
    into.self_excluded = was_excluded;
    const pauses = [gone.cooldown_h, into.cooldown_h].filter((one) => one !== null);
    into.cooldown_h = pauses.length === 0 ? null : Math.max(...pauses);
  }
  return left;
}

const gateOf = (channel: Channel): Gate => ({
  channel,
  per_day: null,
  per_week: null,
  consent_required: false,
  quiet_hours: null,
  now: NOW,
  quiet_zones: [],
  quiet_until: [],
  known_zones: [],
  licence: { risks: [], consents: [] },
});

const ROLES = ['engagement_api', 'engagement_service'] as const;
const as = <Row extends object>(
  role: (typeof ROLES)[number],
  tenant_id: string,
  read: (tx: Parameters<Parameters<typeof sql.begin>[1]>[0]) => Promise<Row[]>,
) =>
  sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant_id}, true), set_config('role', ${role}, true)`;
    return read(tx);
  }) as Promise<Row[]>;

it('an address gets nothing while anybody in the tenant whose address it is or was may get nothing', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(drafted, { minLength: 2, maxLength: 10 }),
      merging,
      fc.constantFrom(...ROLES),
      async (drafts, pairs, role) => {
        // A status that an operator sets comes with its flag.
        for (const draft of drafts) if (draft.status === 'self_excluded') draft.self_excluded = true;
        const persons = await merge(await insert(drafts), pairs);
        for (const one of persons)
          if (one.is_deleted) await sql.begin((tx) => softDeletePlayer(tx, one, NOW));
        for (const tenant_id of new Set(persons.map((one) => one.tenant_id))) {
          const theirs = persons.filter((one) => one.tenant_id === tenant_id);
          for (const channel of CHANNELS) {
            const rows = await as(
              role,
              tenant_id,
              (tx) => tx<{ player_id: string; verdict: SkipCode | null; codes: SkipCode[] }[]>`
                select p.player_id, ${verdictSql(tx, gateOf(channel), recipientOf(tx, channel), tx`null::text`)} as verdict,
                  ${codesSql(tx, gateOf(channel), recipientOf(tx, channel), tx`null::text`)} as codes
                from players p where tenant_id = ${tenant_id}`,
            );
            const seen = Object.fromEntries(rows.map(({ player_id, verdict }) => [player_id, verdict]));
            const wanted = theirs.map((one) => {
              const drawn = one[channel];
              if (one.is_deleted || drawn === null) {
                const own = one.is_deleted ? null : first(barsOf(one));
                return [one.player_id, own ?? 'SKIPPED_NO_RECIPIENT'];
              }
              // The player's own bars hold whatever the address.
              const of_address = expected(persons, tenant_id, channel, drawn.of);
              return [one.player_id, first([...barsOf(one), ...(of_address === null ? [] : [of_address])])];
            });
            expect(seen).toEqual(Object.fromEntries(wanted));
            for (const { verdict, codes } of rows) expect(codes[0] ?? null).toBe(verdict);
            await addressesOf(role, tenant_id, channel, persons);
          }
        }
      },
    ),
    { numRuns: runs(60, { nightly: 600 }) },
  );
});

/** Every address in every spelling, as a test message asks; and whose events the fence waits for. */
async function addressesOf(
  role: (typeof ROLES)[number],
  tenant_id: string,
  channel: Channel,
  persons: readonly Person[],
): Promise<void> {
  const spelled = SPELLINGS[channel].flatMap((spellings, of) => spellings.map((text) => ({ of, text })));
  const rows = await as(
    role,
    tenant_id,
    (tx) => tx<{ verdict: SkipCode | null }[]>`
      select ${addressVerdictSql(tx, { tenant_id: tx`${tenant_id}::uuid`, channel, key: tx`a.key` }, NOW)} as verdict
      from (select address_key(${channel}, address) as key, place
        from unnest(${spelled.map(({ text }) => text)}::text[]) with ordinality as a (address, place) offset 0) a
      order by place`,
  );
  expect(rows.map(({ verdict }) => verdict)).toEqual(
    spelled.map(({ of }) => expected(persons, tenant_id, channel, of)),
  );
  const live = persons.filter((one) => one.tenant_id === tenant_id && !one.is_deleted);
  const [someone] = live;
  if (someone === undefined) return;
  const { project_id } = someone;
  const of_project = live.filter((one) => one.project_id === project_id);
  const addressed = await sql.begin((tx) =>
    selectAddressed(
      tx,
      { tenant_id, project_id, channel },
      of_project.map(({ player_id }) => player_id),
    ),
  );
  for (const { player_id, ids, others } of addressed) {
    const drawn = of_project.find((one) => one.player_id === player_id)?.[channel] ?? null;
    const wanted = persons.filter(
      (one) =>
        one.tenant_id === tenant_id &&
        one.player_id !== player_id &&
        drawn !== null &&
        one.addresses[channel].has(drawn.of),
    );
    expect(ids).toContain(player_id);
    expect((others ?? []).map((one) => `${one.project_id} ${one.ids[0]}`).toSorted()).toEqual(
      wanted.map((one) => `${one.project_id} ${one.player_id}`).toSorted(),
    );
  }
}

/** Every character that is in no address, or around none, and what links begin and end with. */
const NOT_PLAIN = Array.from({ length: 0x110000 }, (_, code) => code)
  .filter((code) => code > 0 && (code < 0xd800 || code > 0xdfff))
  .map((code) => String.fromCodePoint(code))
  .filter((text) => /\p{Cf}/u.test(text) || text.trim() === '');

it('addresses are made plain in Postgres as they are by the service', async () => {
  const piece = fc.constantFrom(
    'mailto:',
    'TEL:',
    'sms:',
    '//',
    '?',
    ';',
    'a',
    'Z',
    '@',
    '+49',
    '\u017f',
    '\u180e',
    '\ufe0f',
    ' ',
    '\n',
    '\u200b',
  );
  const texts = [
    ...NOT_PLAIN.flatMap((text) => [`a${text}b`, `${text}mailto:${text}a${text}?`]),
    ...fc.sample(
      fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
      { numRuns: runs(500), seed: 1 },
    ),
  ];
  const rows = await sql<{ plain: string; key: string | null }[]>`
    select plain_address(t.text) as plain, address_key('email', t.text) as key
    from unnest(${textArray(texts)}::text::text[]) with ordinality as t (text, n) order by n`;
  expect(rows.map(({ plain }) => plain)).toEqual(texts.map(plainAddress));
  for (const [n, { key }] of rows.entries())
    expect(key === null, texts[n]).toBe(plainAddress(texts[n] ?? '') === '');
});
