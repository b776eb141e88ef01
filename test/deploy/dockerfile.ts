import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/package-root.ts';

// Executes a Dockerfile without a Docker engine: each stage is a folder, and its commands run in that folder with the
// tools of this machine. It supports the instructions that our file uses and throws at every other.

const run = promisify(execFile);
const RUN_TIMEOUT_MS = 180_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** What npm needs on this machine to reach its registry: its settings, proxies and certificates. */
const FOR_DOWNLOADS = Object.fromEntries(
  Object.entries(process.env).filter(([name]) =>
    /^(HOME|NODE_EXTRA_CA_CERTS|(https?|no)_proxy)$/i.test(name),
  ),
);

interface Instruction {
  name: string;
  text: string;
}

/**
 * A stage after its steps. Paths are those inside the container; `root` is the folder of this machine that stands for
 * `/`.
 */
export interface Image {
  root: string;
  workdir: string;
  environment: Record<string, string>;
  /** Undefined means root. */
  user: { uid: number; gid: number } | undefined;
  ports: number[];
  volumes: string[];
  healthcheck: string[];
  command: string[];
}

/** Executes every step of the repository's Dockerfile below `folder`, which must be empty; returns the last stage. */
export async function buildImage(folder: string): Promise<Image> {
  const context = join(folder, 'context');
  await copyContext(context);
  const stages = new Map<string, Image>();
  let image: Image | undefined;
  for (const step of await readDockerfile()) {
    if (step.name === 'FROM') {
      const name = /^node:\d+-bookworm-slim(?: AS (\w+))?$/.exec(step.text);
      if (name === null) throw new Error(`unknown base: ${step.text}`);
      image = emptyStage(join(folder, `stage-${stages.size}`));
      stages.set(name[1] ?? '', image);
      await mkdir(image.root);
    } else if (image === undefined) throw new Error(`${step.name} before FROM`);
    else await doStep(image, step, context, stages);
  }
  if (image === undefined) throw new Error('no FROM');
  return image;
}

/** The instructions of the repository's Dockerfile, in order. */
export async function readDockerfile(): Promise<Instruction[]> {
  const text = await readFile(join(packageRoot, 'Dockerfile'), 'utf8');
  const lines = text.split('\n').filter((line) => !line.startsWith('#') && line.trim() !== '');
  const joined = lines.join('\n').replaceAll('\\\n', '').split('\n');
  return joined.map((line) => {
    const [, name, rest] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    if (name === undefined || rest === undefined) throw new Error(`not an instruction: ${line}`);
    return { name, text: rest };
  });
}

/** The settings of one ENV instruction, `NAME=value NAME=value`, without quotes. */
export function parseEnv(text: string): Record<string, string> {
  if (/["'\\$]/.test(text)) throw new Error(`ENV is read without quotes and variables: ${text}`);
  return Object.fromEntries(
    text.split(' ').map((one) => [one.split('=')[0] ?? '', one.replace(/^\w+=/, '')]),
  );
}

function emptyStage(root: string): Image {
  return {
    root,
    workdir: '/',
    environment: {},
    user: undefined,
    ports: [],
    volumes: [],
    healthcheck: [],
    command: [],
  };
}

/** Copies the build context of `docker build`: the repository without the files that .dockerignore lists. */
async function copyContext(context: string): Promise<void> {
  const ignored = (await readFile(join(packageRoot, '.dockerignore'), 'utf8')).trim().split('\n');
  const patterns = ignored.map((line) => {
    // Supports only top-level names with `*`: other patterns have rules that are not implemented here.
    if (!/^[\w.*-]+$/.test(line) || line.includes('**'))
      throw new Error(`.dockerignore: unknown form ${line}`);
    return new RegExp(`^${line.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
  });
  await mkdir(context);
  for (const name of await readdir(packageRoot)) {
    if (patterns.some((pattern) => pattern.test(name))) continue;
    await cp(join(packageRoot, name), join(context, name), { recursive: true });
  }
}

async function doStep(
  image: Image,
  { name, text }: Instruction,
  context: string,
  stages: Map<string, Image>,
): Promise<void> {
  switch (name) {
    case 'WORKDIR':
      image.workdir = resolve('/', image.workdir, text);
      await mkdir(join(image.root, image.workdir), { recursive: true });
      return;
    case 'ENV':
      Object.assign(image.environment, parseEnv(text));
      return;
    case 'COPY':
      return copy(image, text, context, stages);
    case 'RUN':
      return runStep(image, text);
    case 'USER': {
      const [, uid, gid] = /^(\d+):(\d+)$/.exec(text) ?? [];
      if (uid === undefined || gid === undefined) throw new Error(`USER by numbers, not ${text}`);
      image.user = { uid: Number(uid), gid: Number(gid) };
      return;
    }
    case 'VOLUME':
      image.volumes.push(text);
      return;
    case 'EXPOSE':
      image.ports = text.split(' ').map(Number);
      return;
    case 'HEALTHCHECK':
      image.healthcheck = JSON.parse(text.replace(/^(--[\w-]+=\S+ )*CMD /, '')) as string[];
      return;
    case 'CMD':
      image.command = JSON.parse(text) as string[];
      return;
    default:
      throw new Error(`unknown instruction: ${name} ${text}`);
  }
}

/** `COPY [--from=stage] source … target`: a folder's content goes into the target, a file into a folder named with `/`. */
async function copy(image: Image, text: string, context: string, stages: Map<string, Image>): Promise<void> {
  const [, from, paths = ''] = /^(?:--from=(\w+) )?(.+)$/.exec(text) ?? [];
  if (/--|\*/.test(paths)) throw new Error(`COPY: unknown form ${text}`);
  const source_root = from === undefined ? context : stages.get(from)?.root;
  if (source_root === undefined) throw new Error(`COPY: no stage ${from}`);
  const sources = paths.split(' ');
  const target = sources.pop() ?? '';
  const target_path = join(image.root, resolve('/', image.workdir, target));
  for (const source of sources) {
    const path = join(source_root, source);
    const into_folder = target.endsWith('/') && !(await stat(path)).isDirectory();
    await cp(path, into_folder ? join(target_path, basename(source)) : target_path, {
      recursive: true,
      verbatimSymlinks: true,
    });
  }
}

/** Runs the command in the stage's folder. Throws for a command that names a path outside of it. */
async function runStep(image: Image, text: string): Promise<void> {
  if (/(^|[\s='"])[/~]|\.\.|\$/.test(text)) throw new Error(`RUN: names a place of its own: ${text}`);
  // Only root may change owners. Any other user runs the image as itself, so the chown is left out.
  const command = isRoot() ? text : text.replaceAll(/ && chown \d+:\d+ \w+/g, '');
  const cwd = join(image.root, image.workdir);
  await run('sh', ['-ec', command], {
    cwd,
    env: { ...FOR_DOWNLOADS, ...environmentIn(image) },
    timeout: RUN_TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
}

/** The environment of a process of the image. Of this process it inherits only PATH. */
export function environmentIn(image: Image): Record<string, string> {
  const PATH = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
  return { PATH, ...image.environment };
}

/** Spawn options of a program of the image: its folder and, when this process is root, its user. */
export function optionsIn(image: Image): { cwd: string; uid?: number; gid?: number } {
  return { cwd: join(image.root, image.workdir), ...(isRoot() ? image.user : {}) };
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
