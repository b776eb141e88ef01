import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startPlayerMirror } from '../../processors/player-mirror/index.ts';
import { readConfig } from '../../src/config.ts';
import type { WatchedWork } from '../../src/platform/postgres/work-watch.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { runFolder } from '../engines/run-folder.ts';
import { until } from '../engines/until.ts';
import { openTestPlatform } from '../engines/wiring.ts';

let dir: string;
let platform: Platform;
beforeAll(async () => {
  dir = await mkdtemp(join(runFolder(), 'engagement-mirror-'));
  platform = await openTestPlatform(readConfig({ DATA_DIR: dir, LOG_LEVEL: 'silent' }));
});
afterAll(async () => {
  await platform?.close();
  await rm(dir, { recursive: true, force: true });
});

/** Work that is never found: only a wake or the end ends the wait. */
const NO_WORK: WatchedWork = {
  untilFound: (signal) =>
    new Promise((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    }),
};

it('looks once at its start, also without work: the database may have been restored or replaced', async () => {
  const epochs = () => platform.postgres.service`select from database_epochs`;
  expect(await epochs()).toHaveLength(0);
  const loop = startPlayerMirror({ ...platform, workWatch: { watch: () => NO_WORK, wake: () => undefined } });
  onTestFinished(() => loop.close());
  await until(async (saw) => saw((await epochs()).length) === 1);
});
