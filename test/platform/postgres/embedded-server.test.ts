import { appendFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../../src/platform/postgres/embedded-server.ts';
import { connectPool } from '../../../src/platform/postgres/pool.ts';

let dir: string;
afterEach(async () => rm(dir, { recursive: true, force: true }));

it('starts beside an initdb that outlived its killed process, and removes what that one left; pages in the log are never compressed', async () => {
  dir = await mkdtemp(join(tmpdir(), 'engagement-orphan-'));
  const orphan = join(dir, 'cluster.new');
  // The orphan goes on writing into its folder for as long as the start lasts.
  const stop = new AbortController();
  const writing = (async () => {
    for (let file = 0; !stop.signal.aborted; file++) {
      // The folder may go at any moment, as it would for an initdb.
      const write = async () => writeFile(join(orphan, `file-${file % 100}`), '');
      await mkdir(orphan, { recursive: true })
        .then(write, () => undefined)
        .catch(() => undefined);
      await sleep(1);
    }
  })();
  const server = await startEmbeddedPostgres({ dir });
  stop.abort();
  await writing;
  await server.stop();

  // As folders of earlier versions have it.
  await appendFile(join(dir, 'cluster', 'postgresql.auto.conf'), 'wal_compression = on\n');
  const again = await startEmbeddedPostgres({ dir });
  const sql = connectPool(again.url, { max: 1 });
  const [setting] = await sql`show wal_compression`;
  await sql.end({ timeout: 5 });
  await again.stop();
  expect(setting).toEqual({ wal_compression: 'off' });
  expect((await readdir(dir)).filter((name) => name.startsWith('cluster'))).toEqual(['cluster']);
});
