import lighthouse, { desktopConfig } from 'lighthouse';
import { result, type Result } from './measure.ts';

/** The screens, with the addresses that show their list. */
const ROUTES = [
  'overview',
  'events',
  'players',
  'segments',
  'segments/new',
  'campaigns',
  'journeys',
  'templates',
  'bonuses',
  'vip',
  'compliance',
  'developers',
  'settings',
  'system',
];
const ROUNDS = Number(process.env['BENCH_LIGHTHOUSE_ROUNDS'] ?? 3);
const TARGETS = { performance: 98, accessibility: 100, 'best-practices': 100 } as const;
const CATEGORIES = Object.keys(TARGETS) as (keyof typeof TARGETS)[];

/** The least score of any screen by category: of each screen the median of some runs on a desktop. */
export async function lighthouseScores(base_url: string, port: number): Promise<Result[]> {
  if (ROUNDS === 0) return [];
  const least = new Map<string, { route: string; score: number }>();
  for (const route of ROUTES) {
    const scores: Record<string, number[]> = {};
    for (let round = 0; round < ROUNDS; round++) {
      const url = `${base_url}/console/${route}`;
      const options = {
        port,
        onlyCategories: CATEGORIES,
        disableStorageReset: true,
        logLevel: 'error',
      } as const;
      const { lhr } = (await lighthouse(url, options, desktopConfig)) ?? {};
      if (lhr === undefined || lhr.runtimeError !== undefined) {
        throw new Error(`Lighthouse did not measure ${route}: ${lhr?.runtimeError?.message ?? 'no result'}`);
      }
      for (const category of CATEGORIES) {
        (scores[category] ??= []).push((lhr.categories[category]?.score ?? 0) * 100);
      }
    }
    for (const category of CATEGORIES) {
      const score = scores[category]?.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
      const before = least.get(category);
      if (before === undefined || score < before.score) least.set(category, { route, score });
    }
  }
  return CATEGORIES.map((category) => {
    const { route = '', score = 0 } = least.get(category) ?? {};
    const note = `the least of ${ROUTES.length} screens, each the median of ${ROUNDS} runs; here: ${route}`;
    return result(`console: Lighthouse ${category}, desktop`, [score], { at_least: TARGETS[category] }, note);
  });
}
