import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readCommandConfig } from '../src/config.ts';
import { packageRoot } from '../src/package-root.ts';
import { launchBrowser } from '../test/console/chromium.ts';
import { DemoProject } from './demo-project.ts';
import { say } from './say.ts';
import { readDevCredentials } from './service-api.ts';

/** Where the pictures of the README are. */
const FOLDER = join(packageRoot, 'docs', 'pictures');
const SIZE = { width: 1280, height: 800 };
/** The page is taken when nothing was loaded for half a second. */
const SETTLED = 'networkidle';

/** Takes the pictures of the README from the running service, which `npm run demo -- --keep` has filled. */
async function main(): Promise<void> {
  const keys = await readDevCredentials(readCommandConfig().data_dir);
  if (keys === undefined)
    throw new Error('no service has run on DATA_DIR: start it, and fill it with `npm run demo -- --keep`');
  const project = new DemoProject(keys);
  const first = async (path: string, field = 'id', is = (_row: Row): boolean => true): Promise<string> => {
    const { data } = await project.get<{ data: Row[] }>(path);
    const found = data.find(is)?.[field];
    if (typeof found !== 'string')
      throw new Error(`${path} has nothing to show: run \`npm run demo -- --keep\``);
    return found;
  };
  const segment = await first('/v1/segments', 'id', ({ name }) => String(name).startsWith('Over 100'));
  const campaign = await first('/v1/campaigns', 'id', ({ status }) => status === 'sent');
  const pictures = {
    overview: 'overview?range=week',
    segment: `segments/${segment}/edit`,
    campaign: `campaigns/${campaign}`,
    journey: `journeys/${await first('/v1/journeys')}`,
    proof: `compliance/${await first('/v1/compliance/exclusions', 'player_id')}`,
  };
  await mkdir(FOLDER, { recursive: true });
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light' });
    for (const [name, path] of Object.entries(pictures)) {
      await page.goto(`${keys.base_url}/console/${path}`, { waitUntil: SETTLED });
      await page.screenshot({ path: join(FOLDER, `${name}.png`) });
      say(`docs/pictures/${name}.png`);
    }
  } finally {
    await browser.close();
  }
}

type Row = Record<string, unknown>;

main().catch((error: unknown) => {
  process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
