import { parseArgs } from 'node:util';
import { call, callInternal, findInternalApi, findService, newSignInUrl } from './service-api.ts';

const USAGE = `usage: npm run provision -- <what> [flags]

  tenant      --name <text> --base-currency <code> --project-name <text> --admin-user-id <id>
  project     --tenant-id <uuid> --name <text>
  membership  --tenant-id <uuid> --user-id <id> --role owner|admin|editor|viewer|compliance
  remove-membership  --tenant-id <uuid> --user-id <id>
  session     [--user-id <id>]                   (development only; default: the demo's user)
  sign-in     [--user-id <id>]                   (development only: a link that signs in to the console once)
  reencrypt-credentials                             (a step of docs/key-rotation.md)
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

interface Answer {
  data: unknown;
}

/** The command line cannot be used; `message` says how to use it. */
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
  const { data } = await provision(what, flags);
  process.stdout.write(`${JSON.stringify(data)}\n`);
}

async function provision(what: string, flags: Flags): Promise<Answer> {
  switch (what) {
    case 'tenant':
      return internal(flags, 'tenants', {
        name: need(flags, 'name'),
        base_currency: need(flags, 'base-currency'),
        project_name: need(flags, 'project-name'),
        admin_user_id: need(flags, 'admin-user-id'),
      });
    case 'project':
      return internal(flags, 'projects', {
        tenant_id: need(flags, 'tenant-id'),
        name: need(flags, 'name'),
      });
    case 'membership':
      return internal(flags, 'memberships', {
        tenant_id: need(flags, 'tenant-id'),
        user_id: need(flags, 'user-id'),
        role: need(flags, 'role'),
      });
    case 'remove-membership':
      return removeMembership(flags);
    case 'reencrypt-credentials':
      return internal(flags, 'reencrypt-credentials', {});
    case 'session':
      return internal(flags, 'dev-sessions', { user_id: await userOf(flags) });
    case 'sign-in':
      return { data: { url: await newSignInUrl(await findInternalApi(flags), await userOf(flags)) } };
    case 'key':
      return createKey(flags);
    default:
      throw new UsageError(`unknown: ${what}\n\n${USAGE}`);
  }
}

/** The user of `--user-id`; by default that of the demo. */
async function userOf(flags: Flags): Promise<string> {
  return flags['user-id'] ?? (await findService(flags)).kept?.user_id ?? need(flags, 'user-id');
}

async function removeMembership(flags: Flags): Promise<Answer> {
  const query = new URLSearchParams({ tenant_id: need(flags, 'tenant-id'), user_id: need(flags, 'user-id') });
  return callInternal(await findInternalApi(flags), `memberships?${query.toString()}`, { method: 'DELETE' });
}

async function createKey(flags: Flags): Promise<Answer> {
  const { base_url, kept } = await findService(flags);
  const session_token = flags['session-token'] ?? kept?.session_token;
  if (session_token === undefined)
    throw new UsageError('give --session-token: no dev-credentials.json was found');
  const project = flags['project-id'] ?? kept?.project_id ?? need(flags, 'project-id');
  const hasRate = flags['per-minute'] !== undefined || flags.burst !== undefined;
  const ingest_rate = hasRate
    ? { per_minute: Number(need(flags, 'per-minute')), burst: Number(need(flags, 'burst')) }
    : undefined;
  return call(`${base_url}/v1/projects/${encodeURIComponent(project)}/api-keys`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${session_token}`,
      ...(flags['tenant-id'] === undefined ? {} : { 'x-tenant-id': flags['tenant-id'] }),
    },
    body: { name: need(flags, 'name'), ingest_rate },
  });
}

async function internal(flags: Flags, path: string, body: object): Promise<Answer> {
  return callInternal(await findInternalApi(flags), path, { method: 'POST', body });
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
