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
type Category = keyof typeof TARGETS;
const CATEGORIES = Object.keys(TARGETS) as Category[];

/** The least score of any screen by category: of each screen the median of some runs on a desktop. */
export async function lighthouseScores(base_url: string, port: number): Promise<Result[]> {
  if (ROUNDS === 0) return [];
  const least = new Map<string, { route: string; score: number }>();
  // Lighthouse has a browser context of its own: its first visit signs in, and a session that is missing is an error in its log.
  await scoresOf(`${base_url}/console/`, port);
  for (const route of ROUTES) {
    const scores: Record<string, number[]> = {};
    for (let round = 0; round < ROUNDS; round++) {
      const measured = await scoresOf(`${base_url}/console/${route}`, port);
      for (const category of CATEGORIES) (scores[category] ??= []).push(measured(category));
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

/** Measures one page; returns its score of a category, from 0 to 100. */
async function scoresOf(url: string, port: number): Promise<(category: Category) => number> {
  const options = {
    port,
    onlyCategories: CATEGORIES,
    disableStorageReset: true,
    logLevel: 'error',
  } as const;
  const { lhr } = (await lighthouse(url, options, desktopConfig)) ?? {};
  if (lhr === undefined || lhr.runtimeError !== undefined) {
    throw new Error(`Lighthouse did not measure ${url}: ${lhr?.runtimeError?.message ?? 'no result'}`);
  }
  return (category) => (lhr.categories[category]?.score ?? 0) * 100;
}
