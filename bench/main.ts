import { ROLES } from '../src/config.ts';
import { startTestService } from '../test/engines/service.ts';
import { benchBonusCampaign } from './bonus-campaign.ts';
import { benchBonusFold } from './bonus-fold.ts';
import { benchBonusGrants } from './bonus-grants.ts';
import { benchBonusRate } from './bonus-rate.ts';
import { benchBonusWebhooks } from './bonus-webhooks.ts';
import { benchBoot } from './boot.ts';
import { benchClaims } from './claims.ts';
import { benchConsole } from './console.ts';
import { benchConversions } from './conversions.ts';
import { benchCurrencies } from './currencies.ts';
import { benchFold } from './fold.ts';
import { benchFresh } from './fresh.ts';
import { benchGrowth } from './growth.ts';
import { benchIdentify } from './identify.ts';
import { benchIdle } from './idle.ts';
import { benchImport } from './import.ts';
import { benchInsights } from './insights.ts';
import { benchIntake } from './intake.ts';
import { benchIntakeWithKafka } from './kafka.ts';
import { benchFoldAndSinkWithJourneys } from './journey-fold-sink.ts';
import { benchJourneyEntry } from './journey-entry.ts';
import { benchJourneyLatency } from './journey-latency.ts';
import { benchParked } from './journey-parked.ts';
import { benchWebhooks } from './journey-webhooks.ts';
import { benchJourneys } from './journeys.ts';
import { benchLatency } from './latency.ts';
import { benchMemory } from './memory.ts';
import { benchMessaging } from './messaging.ts';
import { benchNeighbours } from './neighbours.ts';
import { benchDialect, benchPages } from './pages.ts';
import { benchReads } from './reads.ts';
import { benchReports } from './reports.ts';
import { benchSegmentLatency } from './segment-latency.ts';
import { benchSegments } from './segments.ts';
import { benchSink } from './sink.ts';
import { benchSubscriptions } from './subscriptions.ts';
import { benchTenancy } from './tenancy.ts';
import { benchWhole } from './whole.ts';
import { benchFoldWithTiers, benchTiers } from './tiers.ts';
import { formatResult, type Result } from './measure.ts';

type Bench = () => Promise<Result[]>;

/** Runs `bench` on a service without processors, so that `bench` can run them itself. */
async function withIdleService(
  bench: (service: Awaited<ReturnType<typeof startTestService>>) => Promise<Result[]>,
): Promise<Result[]> {
  const service = await startTestService({
    roles: new Set(ROLES.filter((role) => role === 'api' || role === 'intake')),
  });
  try {
    return await bench(service);
  } finally {
    await service.close();
  }
}

const BENCHES: Record<string, Bench> = {
  boot: benchBoot,
  identify: benchIdentify,
  idle: benchIdle,
  intake: () => benchIntake(),
  pages: benchPages,
  dialect: benchDialect,
  'intake-kafka': benchIntakeWithKafka,
  fold: () => withIdleService(benchFold),
  claims: () => withIdleService(benchClaims),
  fresh: benchFresh,
  growth: () => withIdleService(benchGrowth),
  import: () => withIdleService(benchImport),
  currencies: () => withIdleService((service) => benchCurrencies(service)),
  sink: () => withIdleService(benchSink),
  reads: benchReads,
  tenancy: () => benchTenancy(),
  insights: () => withIdleService(benchInsights),
  segments: () => withIdleService(benchSegments),
  'segment-latency': benchSegmentLatency,
  messaging: () => withIdleService(benchMessaging),
  console: benchConsole,
  reports: benchReports,
  conversions: () => withIdleService(benchConversions),
  journeys: () => withIdleService(benchJourneys),
  'journey-entry': benchJourneyEntry,
  'journey-latency': benchJourneyLatency,
  'journey-parked': () => withIdleService(benchParked),
  'journey-webhooks': () => withIdleService(benchWebhooks),
  'journey-fold-sink': () => withIdleService(benchFoldAndSinkWithJourneys),
  subscriptions: benchSubscriptions,
  tiers: benchTiers,
  'tiers-fold': () => withIdleService(benchFoldWithTiers),
  'bonus-fold': () => withIdleService(benchBonusFold),
  'bonus-grants': () => withIdleService(benchBonusGrants),
  'bonus-webhooks': benchBonusWebhooks,
  'bonus-rate': benchBonusRate,
  'bonus-campaign': () => withIdleService(benchBonusCampaign),
  latency: benchLatency,
  memory: benchMemory,
  whole: benchWhole,
  neighbours: benchNeighbours,
};

/** These run only when they are named: `intake-kafka` needs installed servers, the others take long. */
const NAMED_ONLY = new Set([
  'boot',
  'identify',
  'idle',
  'intake-kafka',
  'claims',
  'fresh',
  'growth',
  'import',
  'memory',
  'whole',
  'insights',
  'segments',
  'segment-latency',
  'messaging',
  'conversions',
  'console',
  'journeys',
  'journey-entry',
  'journey-latency',
  'journey-parked',
  'journey-webhooks',
  'journey-fold-sink',
  'subscriptions',
  'tiers',
  'tiers-fold',
  'bonus-fold',
  'bonus-grants',
  'bonus-webhooks',
  'bonus-rate',
  'bonus-campaign',
  'neighbours',
]);

async function main(): Promise<void> {
  const wanted = process.argv.slice(2);
  let missed = 0;
  for (const [name, bench] of Object.entries(BENCHES)) {
    if (wanted.length === 0 ? NAMED_ONLY.has(name) : !wanted.includes(name)) continue;
    process.stdout.write(`\n${name}\n`);
    for (const line of await bench()) {
      if (!line.met) missed++;
      process.stdout.write(`${formatResult(line)}\n`);
    }
  }
  process.stdout.write(`\n${missed} targets missed\n`);
}

await main();
process.exit(0);
