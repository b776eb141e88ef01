import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readConfig } from '../src/config.ts';

const USAGE = `usage: npm run provision -- <what> [flags]

  tenant      --name <text> --base-currency <code> --project-name <text> --admin-user-id <id>
  project     --tenant-id <uuid> --name <text>
  membership  --tenant-id <uuid> --user-id <id> --role owner|admin|editor|viewer
  session     [--user-id <id>]                   (development only; default: the demo's user)
  key         --name <text> [--project-id <uuid>] [--tenant-id <uuid>] [--per-minute <n> --burst <n>]

The service is the one that DATA_DIR/dev-credentials.json belongs to, unless flags say otherwise:
  --base-url <url>  --internal-secret <secret>  --session-token <token>`;

const FLAGS = [
  'name',
  'base-currency',
  'project-name',
  'admin-user-id',
  'tenant-id',
  'user-id',
  'role',
  'project-id',
  'per-minute',
  'burst',
  'base-url',
  'internal-secret',
  'session-token',
] as const;

type Flags = Partial<Record<(typeof FLAGS)[number], string>>;

/** The values the first start keeps for its user, as far as they are needed here. */
interface Credentials {
  base_url: string;
  internal_secret?: string | undefined;
  session_token?: string | undefined;
  project_id?: string | undefined;
}

/** A mistake of the one who typed the command. */
class UsageError extends Error {
  override readonly name = 'UsageError';
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: Object.fromEntries(FLAGS.map((name) => [name, { type: 'string' as const }])),
  });
  const flags = values as Flags;
  const [what, ...rest] = positionals;
  if (what === undefined || rest.length > 0) throw new UsageError(USAGE);
  const credentials = await readCredentials(flags);
  process.stdout.write(`${JSON.stringify(await provision(what, flags, credentials))}\n`);
}

async function provision(what: string, flags: Flags, credentials: Credentials): Promise<unknown> {
  switch (what) {
    case 'tenant':
      return internal(credentials, 'tenants', {
        name: need(flags, 'name'),
        base_currency: need(flags, 'base-currency'),
        project_name: need(flags, 'project-name'),
        admin_user_id: need(flags, 'admin-user-id'),
      });
    case 'project':
      return internal(credentials, 'projects', {
        tenant_id: need(flags, 'tenant-id'),
        name: need(flags, 'name'),
      });
    case 'membership':
      return internal(credentials, 'memberships', {
        tenant_id: need(flags, 'tenant-id'),
        user_id: need(flags, 'user-id'),
        role: need(flags, 'role'),
      });
    case 'session':
      return internal(credentials, 'dev-sessions', {
        user_id: flags['user-id'] ?? userOf(credentials) ?? need(flags, 'user-id'),
      });
    case 'key':
      return createKey(flags, credentials);
    default:
      throw new UsageError(`unknown: ${what}\n\n${USAGE}`);
  }
}

async function createKey(
  flags: Flags,
  { base_url, session_token, project_id }: Credentials,
): Promise<unknown> {
  if (session_token === undefined)
    throw new UsageError('give --session-token: no dev-credentials.json was found');
  const project = flags['project-id'] ?? project_id ?? need(flags, 'project-id');
  const hasRate = flags['per-minute'] !== undefined || flags.burst !== undefined;
  const ingest_rate = hasRate
    ? { per_minute: Number(need(flags, 'per-minute')), burst: Number(need(flags, 'burst')) }
    : undefined;
  const url = `${base_url}/v1/projects/${encodeURIComponent(project)}/api-keys`;
  return post(
    url,
    { name: need(flags, 'name'), ingest_rate },
    {
      authorization: `Bearer ${session_token}`,
      ...(flags['tenant-id'] === undefined ? {} : { 'x-tenant-id': flags['tenant-id'] }),
    },
  );
}

async function internal(
  { base_url, internal_secret }: Credentials,
  path: string,
  body: object,
): Promise<unknown> {
  if (internal_secret === undefined) {
    throw new UsageError('give --internal-secret: neither INTERNAL_SECRET nor dev-credentials.json is there');
  }
  return post(`${base_url}/v1/internal/${path}`, body, { 'x-internal-secret': internal_secret });
}

async function post(url: string, body: object, headers: Record<string, string>): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  const answer = (await response.json()) as { data?: unknown; error?: { code: string; message: string } };
  if (!response.ok)
    throw new Error(`${answer.error?.code ?? response.status}: ${answer.error?.message ?? ''}`);
  return answer.data;
}

async function readCredentials(flags: Flags): Promise<Credentials> {
  const config = readConfig();
  const kept = await readKept(join(config.data_dir, 'dev-credentials.json'));
  return {
    base_url: (flags['base-url'] ?? kept?.base_url ?? `http://${config.host}:${config.port}`).replace(
      /\/$/,
      '',
    ),
    internal_secret: flags['internal-secret'] ?? config.internal_secret ?? kept?.internal_secret,
    session_token: flags['session-token'] ?? kept?.session_token,
    project_id: kept?.project_id,
  };
}

async function readKept(path: string): Promise<Credentials | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Credentials;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The user of the kept session: the middle part of a token is public JSON. */
function userOf({ session_token }: Credentials): string | undefined {
  const payload = session_token?.split('.')[1];
  if (payload === undefined) return undefined;
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sub?: string }).sub;
}

function need(flags: Flags, name: keyof Flags): string {
  const value = flags[name];
  if (value === undefined) throw new UsageError(`--${name} is required\n\n${USAGE}`);
  return value;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
