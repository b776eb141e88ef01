import { toEvent, type Purchase } from './cdnow.ts';
import { DemoProject, eachOf, type DemoKeys } from './demo-project.ts';
import { stream, sumOf, untilVisible } from './demo-purchases.ts';
import { demoJourney, TEMPLATES } from './demo-story.ts';
import { ProgressBar } from './progress-bar.ts';
import { count, say } from './say.ts';
import { CallFailed } from './service-api.ts';

// What `npm run demo -- --keep` makes: a project in which every screen of the console has something to show.

const DAY_MS = 86_400_000;
const CURRENCY = 'EUR';
const FIRST_NAMES = ['Anna', 'Ben', 'Chiara', 'David', 'Elif', 'Farid', 'Greta', 'Hugo', 'Ines', 'Jonas'];
/** Of customers: one in so many has no address, has excluded itself, cools down. */
const WITHOUT_ADDRESS = 9;
const EXCLUDED = 60;
const COOLING_DOWN = 85;
/** Why the gate stops a message to such a player. */
const PROTECTED: ReadonlySet<string> = new Set(['SKIPPED_SELF_EXCLUDED', 'SKIPPED_COOLDOWN']);
const RUNS = 80;
const GRANTS = 40;
/** How many percent of a variant's recipients deposit after its message. */
const CONVERTED_PERCENT = [6, 11] as const;

const SEGMENTS = [
  {
    name: 'Over 100 in 30 days, quiet for a week',
    refresh_strategy: 'realtime',
    definition: {
      operator: 'AND',
      conditions: [
        deposits('sum', 'gt', 10_000, { last: { days: 30 } }),
        deposits('count', 'eq', 0, { last: { days: 7 } }),
      ],
    },
  },
  {
    name: 'Deposited in the last 90 days',
    refresh_strategy: 'realtime',
    definition: { operator: 'AND', conditions: [deposits('count', 'gte', 1, { last: { days: 90 } })] },
  },
  {
    name: 'Silent for 180 days',
    refresh_strategy: 'manual',
    definition: {
      operator: 'AND',
      conditions: [
        deposits('count', 'gte', 1, undefined),
        deposits('count', 'eq', 0, { last: { days: 180 } }),
      ],
    },
  },
] as const;

const TIERS = [
  { code: 'bronze', name: 'Bronze', rank: 1, color: '#A97142', from: 1 },
  { code: 'silver', name: 'Silver', rank: 2, color: '#8A8D91', from: 10_000 },
  { code: 'gold', name: 'Gold', rank: 3, color: '#B8860B', from: 40_000 },
] as const;

function deposits(aggregate: 'sum' | 'count', op: string, value: number, window: object | undefined) {
  return {
    type: 'event',
    event: 'deposit_confirmed',
    aggregate,
    ...(aggregate === 'sum' ? { property: 'amount' } : {}),
    op,
    value,
    ...(window === undefined ? {} : { window }),
  };
}

/**
 * Fills the project of a running service's demo by its public API, from the purchases. Rejects when it was filled before
 * (its first segment is there), and when a sum of money is not what was sent.
 */
export async function fillDemo(keys: DemoKeys, purchases: readonly Purchase[]): Promise<void> {
  const project = new DemoProject(keys);
  await requireEmpty(project);
  const moved = movedTo(purchases, new Date(Date.now() - DAY_MS).toISOString().slice(0, 10));
  const events = moved.map(toEvent).map((event) => {
    return { ...event, properties: { ...event.properties, currency: CURRENCY } };
  });
  const tiers = await makeTiers(project);
  await stream({ ...keys, tenant: keys }, events);
  const customers = [...new Set(moved.map(({ customer_id }) => customer_id))];
  const expected = moved.reduce((sum, { amount_cents }) => sum + BigInt(amount_cents), 0n);
  const players = await untilVisible({ ...keys, tenant: keys }, customers.length, expected);
  if (sumOf(players) !== expected)
    throw new Error(`the totals are off by ${sumOf(players) - expected} cents`);
  say(
    `${count(purchases.length)} purchases of ${count(players.length)} players: every cent is accounted for.`,
  );
  await giveAddresses(project, customers);
  const player_ids = players.map(({ id }) => id).toSorted();
  await protect(project, player_ids);
  const segments = await makeSegments(project);
  say(`${tiers} tiers, ${segments.length} segments.`);
  const [provider_id, welcome] = [await makeProvider(project), await makeTemplates(project)];
  const [, audience = ''] = segments;
  await sendCampaign(project, audience, provider_id);
  await startJourney(project, welcome, provider_id, player_ids.slice(0, RUNS));
  await grantBonuses(project, player_ids.slice(-GRANTS));
}

/** The purchases moved by whole days, so that the last one is on this day (YYYY-MM-DD). */
export function movedTo(purchases: readonly Purchase[], last_day: string): Purchase[] {
  const last_ms = purchases.reduce((last, { date }) => Math.max(last, Date.parse(date)), 0);
  const by_ms = Date.parse(last_day) - last_ms;
  return purchases.map((purchase) => {
    return { ...purchase, date: new Date(Date.parse(purchase.date) + by_ms).toISOString().slice(0, 10) };
  });
}

async function requireEmpty(project: DemoProject): Promise<void> {
  const { data } = await project.get<{ data: { name: string }[] }>('/v1/segments?limit=200');
  if (!data.some(({ name }) => name === SEGMENTS[0].name)) return;
  throw new Error(`the demo is filled already: it has the segment "${SEGMENTS[0].name}"`);
}

async function makeTiers(project: DemoProject): Promise<number> {
  for (const { from, ...tier } of TIERS) {
    const requirements = { lifetime_deposit_subunit: from };
    await project.post('/v1/vip-tiers', { ...tier, requirements });
  }
  return TIERS.length;
}

/** Gives most customers an address and a name. */
async function giveAddresses(project: DemoProject, customers: readonly string[]): Promise<void> {
  const bar = new ProgressBar('addresses', customers.length);
  await eachOf(customers, async (customer_id, n) => {
    const first_name = FIRST_NAMES[n % FIRST_NAMES.length];
    const email = n % WITHOUT_ADDRESS === 0 ? {} : { email: `${customer_id}@example.com` };
    await project.identify(`cdnow-${customer_id}`, { first_name, ...email });
    bar.advance(1);
  });
}

/** Some players exclude themselves, some cool down for a month. Resolves when that counts. */
async function protect(project: DemoProject, player_ids: readonly string[]): Promise<void> {
  const until = new Date(Date.now() + 30 * DAY_MS).toISOString();
  const excluded = player_ids.filter((_id, n) => n % EXCLUDED === 0);
  const cooling_down = player_ids.filter((_id, n) => n % COOLING_DOWN === 1);
  await project.events([
    ...excluded.map((player_id) => ({ event: 'self_exclusion_set', player_id })),
    ...cooling_down.map((player_id) => ({ event: 'cooldown_entered', player_id, properties: { until } })),
  ]);
  await eachOf([...excluded, ...cooling_down], (player_id) =>
    project.until('the player is protected', async () => {
      const { data } = await project.get<{ data: { codes: string[] }[] }>(
        `/v1/players/${player_id}/reachability`,
      );
      return data.some(({ codes }) => codes.some((code) => PROTECTED.has(code)));
    }),
  );
}

/** The ids of the segments, each with its members. */
async function makeSegments(project: DemoProject): Promise<string[]> {
  const ids: string[] = [];
  for (const segment of SEGMENTS) {
    const id = await project.make('/v1/segments', segment);
    await project.post(`/v1/segments/${id}/refresh`);
    ids.push(id);
  }
  return ids;
}

function makeProvider(project: DemoProject): Promise<string> {
  return project.make('/v1/messaging-providers', {
    name: 'Sandbox',
    kind: 'sandbox',
    channel: 'email',
  });
}

/** The templates of the journey by the names of its nodes. */
async function makeTemplates(project: DemoProject): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  for (const [name, subject] of Object.entries(TEMPLATES))
    ids[name] = await makeTemplate(project, name, subject);
  return ids;
}

/** Sends a campaign with two variants, and lets some of their recipients deposit afterwards. */
async function sendCampaign(project: DemoProject, segment_id: string, provider_id: string): Promise<void> {
  const template_id = await makeTemplate(project, 'New this week', '{{ first_name }}, this is new');
  const campaign_id = await project.make('/v1/campaigns', {
    name: 'New this week',
    channel: 'email',
    segment_id,
    template_id,
    provider_id,
    goal_event: 'deposit_confirmed',
    goal_attribution_days: 7,
    goal_value_property: 'amount',
  });
  const variants: string[] = [];
  for (const [name, subject] of [
    ['Short', 'New this week'],
    ['Personal', '{{ first_name }}, we chose these for you'],
  ] as const) {
    const variant = {
      name,
      label: name,
      weight: 50,
      template_id: await makeTemplate(project, name, subject),
    };
    variants.push(await project.make(`/v1/campaigns/${campaign_id}/variants`, variant));
  }
  await project.post(`/v1/campaigns/${campaign_id}/send`);
  await project.until('the campaign is sent', async () => {
    const { data } = await project.get<{ data: { status: string } }>(`/v1/campaigns/${campaign_id}`);
    return data.status === 'sent';
  });
  const recipients = await readRecipients(project, campaign_id);
  const deposits_after = recipients.flatMap(({ player_id, variant_id }, n) => {
    const percent = CONVERTED_PERCENT[variants.indexOf(variant_id)] ?? 0;
    // 37 has no divisor in common with 100, so that each hundred has every rest once.
    if ((n * 37) % 100 >= percent) return [];
    const transaction_id = `demo-after-${campaign_id}-${n}`;
    const properties = { amount: 1_000 + ((n * 173) % 9_000), currency: CURRENCY, transaction_id };
    return [{ event: 'deposit_confirmed', player_id, properties: { ...properties, payment_method: 'card' } }];
  });
  await project.events(deposits_after);
  say(
    `A campaign with two variants: ${count(recipients.length)} messages, ${deposits_after.length} deposits after it.`,
  );
  // Also one that is still to be sent, for the calendar.
  await project.make('/v1/campaigns', {
    name: 'Weekend',
    channel: 'email',
    segment_id,
    template_id,
    provider_id,
    schedule_at: new Date(Date.now() + 3 * DAY_MS).toISOString(),
  });
}

/** Activates the journey of the demo, and lets players enter it. */
async function startJourney(
  project: DemoProject,
  template_ids: Readonly<Record<string, string>>,
  provider_id: string,
  player_ids: readonly string[],
): Promise<void> {
  const path = `/v1/journeys/${await project.make('/v1/journeys', demoJourney(template_ids, provider_id))}`;
  await project.post(`${path}/activate`);
  await eachOf(player_ids, (player_id) =>
    project.post(`${path}/trigger`, { player_id, context: { trigger_payload: { cds: 2 } } }),
  );
  say(`A journey with ${player_ids.length} runs.`);
}

/** Grants a bonus to players who may have one; the others are refused, which is right. */
async function grantBonuses(project: DemoProject, player_ids: readonly string[]): Promise<void> {
  const template_id = await project.make('/v1/bonus-templates', {
    name: 'Thank you 10',
    type: 'no_deposit',
    config: { amount: 1_000, currency: CURRENCY },
    wagering_requirement_multiplier: 10,
    max_grants_per_player: 1,
    budget_base: 100_000,
    time_limit_hours: 168,
  });
  let granted = 0;
  await eachOf(player_ids, async (player_id) => {
    const body = { template_id, player_id, granted_by_kind: 'manual', granted_by_id: null };
    await project.post('/v1/bonus-grants', body).then(
      () => (granted += 1),
      (error: unknown) => {
        if (!(error instanceof CallFailed) || error.code !== 'BONUS_PLAYER_NOT_ELIGIBLE') throw error;
      },
    );
  });
  say(`${granted} bonuses of the built-in sandbox.`);
}

async function readRecipients(
  project: DemoProject,
  campaign_id: string,
): Promise<{ player_id: string; variant_id: string }[]> {
  const found: { player_id: string; variant_id: string }[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: {
      data: { player_id: string; variant_id: string; status: string }[];
      meta: { next_cursor: string | null };
    } = await project.get(`/v1/campaigns/${campaign_id}/recipients?limit=200${after}`);
    found.push(...page.data.filter(({ status }) => status === 'sent'));
    cursor = page.meta.next_cursor;
  }
  return found;
}

function makeTemplate(project: DemoProject, name: string, subject: string): Promise<string> {
  const body = '<p>Dear {{ first_name }},</p><p>thank you for playing with us.</p>';
  return project.make('/v1/templates', { name, channel: 'email', status: 'active', subject, body });
}
