// Compiles the service and, beside it, the console. The console is built only when one of its inputs has changed since:
// dist/console/.stamp holds their hash. Plain JavaScript, because it runs before anything is compiled.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const output = join(root, 'dist/console');
const stamp = join(output, '.stamp');
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

/** The files of a folder, in a fixed order. */
async function filesOf(folder) {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort();
}

async function hashOfInputs() {
  const hash = createHash('sha256');
  const files = [
    ...(await filesOf('console')),
    ...(await filesOf('clients/js')),
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

/** A build that was stopped leaves no stamp, so the next one starts over. */
async function buildConsole() {
  const wanted = await hashOfInputs();
  const built = existsSync(stamp) ? await readFile(stamp, 'utf8') : '';
  if (built === wanted) return;
  await rm(stamp, { force: true });
  await run('vite/bin/vite.js', ['build', '--config', 'console/vite.config.ts', '--logLevel', 'warn']);
  await compress();
  await writeFile(stamp, wanted);
}

const project = process.argv[2] ?? 'tsconfig.build.json';
try {
  await Promise.all([run('typescript/bin/tsc', ['-p', project]), buildConsole()]);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
