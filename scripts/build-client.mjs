// Builds the package in clients/js for npm: a module without imports per entry, and the types. `node scripts/build-client.mjs
// [folder]` writes into another folder than clients/js/dist. Plain JavaScript, because it runs before anything is compiled.
import { execFile } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(root, 'clients/js');
const output = resolve(process.argv[2] ?? join(source, 'dist'));

/** Writes `<name>.js`. That of browsers is small: pages may load it as it is. */
async function bundle(name, platform) {
  const build = await rolldown({
    input: join(source, 'src', `${name}.ts`),
    platform,
    transform: { target: platform === 'node' ? 'node20' : 'es2023' },
  });
  await build.write({
    file: join(output, `${name}.js`),
    minify: name === 'browser',
    comments: { legal: true, annotation: true, jsdoc: false },
  });
}

/** Types name each other by the names of the published files. */
async function renameImports() {
  const names = await readdir(output, { recursive: true });
  for (const name of names.filter((one) => one.endsWith('.d.ts'))) {
    const text = await readFile(join(output, name), 'utf8');
    await writeFile(join(output, name), text.replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'"));
  }
}

await rm(output, { recursive: true, force: true });
const types = promisify(execFile)(
  process.execPath,
  [
    join(root, 'node_modules/typescript/bin/tsc'),
    '-p',
    join(source, 'tsconfig.types.json'),
    '--outDir',
    output,
  ],
  { cwd: root },
);
try {
  await Promise.all([
    types,
    bundle('admin', 'neutral'),
    bundle('browser', 'browser'),
    bundle('server', 'node'),
  ]);
  await renameImports();
} catch (error) {
  console.error(error.stdout || error.message);
  process.exit(1);
}
