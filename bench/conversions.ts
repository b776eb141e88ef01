import { randomUUID } from 'node:crypto';
import { countConversions, type VariantConversions } from '../src/engage/campaigns/stats-queries.ts';
import type { TestService } from '../test/engines/service.ts';
import { askExpert, seedSends } from './conversion-seed-queries.ts';
import { alternate, median, ratios, result, timed, type Result } from './measure.ts';
import { mergeParts, seedEvents } from './segment-seed-queries.ts';

const SENDS = Number(process.env['BENCH_CONVERSION_SENDS'] ?? 1_000_000);
const EVENTS = Number(process.env['BENCH_CONVERSION_EVENTS'] ?? 10_000_000);
const ROUNDS = 5;
const GOAL = { event: 'deposit_confirmed', window_ms: 7 * 86_400_000 };

/** The conversion stats of a campaign with a million messages against the same query written by hand. */
export async function benchConversions({ tenant_id, project_id, platform }: TestService): Promise<Result[]> {
  const { clickhouse } = platform;
  const project = { tenant_id, project_id };
  const campaign_id = randomUUID();
  await seedEvents(clickhouse, project, SENDS, EVENTS);
  await mergeParts(clickhouse);
  await seedSends(clickhouse, project, campaign_id, [randomUUID(), randomUUID()], SENDS);
  const goal = { ...GOAL, value_property: 'amount' };
  const ours = () => countConversions(clickhouse, { ...project, campaign_id }, goal);
  const theirs = () => askExpert(clickhouse, project, campaign_id, GOAL);
  const [left, right] = [inOrder(await ours()), inOrder(await theirs())];
  if (left !== right) throw new Error(`not the same question: ${left} and ${right}`);
  const once = (ask: () => Promise<unknown>) => () =>
    timed(async () => {
      await ask();
      return 1;
    });
  const pairs = await alternate(ROUNDS, once(ours), once(theirs));
  const of = (side: 'a' | 'b') => median(pairs.map((pair) => pair[side].wall_ms)).toFixed(0);
  const note = `${of('a')} against ${of('b')} ms: ${SENDS} messages, ${EVENTS} events, a tenth of them goals`;
  return [
    result(
      'conversion stats ÷ by hand',
      ratios(pairs, ({ wall_ms }) => wall_ms),
      { at_most: 1.2 },
      note,
    ),
  ];
}

function inOrder(rows: readonly VariantConversions[]): string {
  return JSON.stringify(
    rows
      .map(({ variant_id, ...counts }) => ({ variant_id, ...counts }))
      .sort((a, b) => (a.variant_id < b.variant_id ? -1 : 1)),
  );
}
