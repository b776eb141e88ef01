import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that contains package.json and the SQL folders; found from the sources and from the build. */
export const packageRoot: string = findRoot(dirname(fileURLToPath(import.meta.url)));

/** The version of the service. */
export const packageVersion: string = (
  JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }
).version;

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'pg-migrations'))) return folder;
  const parent = dirname(folder);
  if (parent === folder)
    throw new Error('the SQL folders of the service are missing: install the whole package');
  return findRoot(parent);
}
