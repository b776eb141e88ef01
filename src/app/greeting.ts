import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { createApiKey } from '../tenants/api-keys/create.ts';
import { loadCredentialsKeys } from '../engage/providers/credentials.ts';
import { addSecret } from '../engage/webhooks/secrets.ts';
import { CONSOLE_DIR } from '../console/static.ts';
import { auditNothing } from '../http/audit.ts';
import type { Config } from '../config.ts';
import { newId } from '../platform/ids.ts';
import type { Service } from './service.ts';
import { fetchRatesOfNewTenant } from '../ledger/fx/fetch-job.ts';
import { createTenant } from '../tenants/provision.ts';
import type { Platform } from '../platform/platform.ts';

/** The file in DATA_DIR in which the first start keeps its demo. */
const DEMO_FILE = 'dev-credentials.json';

/** The demo that the first start creates; stored in {@link DEMO_FILE}. */
export interface DevCredentials {
  base_url: string;
  /** Where health, metrics and the internal endpoints are, if not on the base API. */
  ops_url?: string;
  ingest_url: string;
  tenant_id: string;
  project_id: string;
  api_key: string;
  session_token: string;
  internal_secret: string;
  /** Verifies the signature of the demo's webhooks. */
  webhook_secret?: string | undefined;
  /** The user of the session. */
  user_id: string;
}

/**
 * With the development issuer, prints how to use the service that just started, and where its keys are, but no key;
 * without it does nothing. What is printed may be kept as a log. The first start also creates a demo tenant with an API key and a session. Later starts keep the demo and renew session and
 * addresses.
 */
export async function greet(config: Config, platform: Platform, service: Service): Promise<void> {
  const { base_url, ingest_url, ops_url, auth } = service;
  if (base_url === undefined || ingest_url === undefined || auth?.dev_issuer === undefined) return;
  const file = join(config.data_dir, DEMO_FILE);
  const kept = await readKept(file);
  const demo = await withWebhookSecret(config, platform, kept ?? (await makeDemo(config, platform, service)));
  const credentials: DevCredentials = {
    ...demo,
    base_url,
    ...(ops_url === base_url ? {} : { ops_url }),
    ingest_url,
    session_token: await auth.dev_issuer.issueSession(demo.user_id),
    internal_secret: auth.internal_secret,
  };
  // Renamed into place: a process that is killed while it writes must not lose the demo's key.
  await writeFile(`${file}.new`, JSON.stringify(credentials, null, 2) + '\n', { mode: 0o600 });
  await rename(`${file}.new`, file);
  const sign_in = auth.dev_issuer.issueSignIn(demo.user_id);
  const console_url = existsSync(CONSOLE_DIR) ? `${base_url}/console/#sign-in=${sign_in}` : undefined;
  process.stdout.write(instructions(credentials, { file: resolve(file), console_url }));
}

const demoSchema = z.object({
  tenant_id: z.string(),
  project_id: z.string(),
  api_key: z.string(),
  webhook_secret: z.string().optional(),
  user_id: z.string(),
});
type Demo = z.infer<typeof demoSchema>;

/** The demo of an earlier start; undefined when its file is lost or unusable. */
async function readKept(file: string): Promise<Demo | undefined> {
  try {
    return demoSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return undefined;
  }
}

async function makeDemo(config: Config, platform: Platform, service: Service): Promise<Demo> {
  const { notifications } = service;
  const { jobs, postgres } = platform;
  // A new user per demo. One user would also be a member of an earlier demo whose file was lost, and a user with
  // several tenants has to name the tenant in each request.
  const user_id = `demo-admin-${newId().slice(-8)}`;
  const { tenant_id, project_id } = await createTenant(
    postgres.service,
    { notifications, onTenantCreated: fetchRatesOfNewTenant(jobs) },
    {
      name: 'Demo operator',
      base_currency: 'EUR',
      project_name: 'Demo casino',
      admin_user_id: user_id,
    },
  );
  const { key } = await createApiKey(platform, {
    tenant_id,
    project_id,
    name: 'demo',
    environment: config.service_env,
  });
  return { tenant_id, project_id, api_key: key, user_id };
}

/** The demo with a secret that signs its webhooks, which it gets when it has none. */
async function withWebhookSecret(
  config: Config,
  { postgres, clock, logger }: Platform,
  demo: Demo,
): Promise<Demo> {
  if (demo.webhook_secret !== undefined) return demo;
  const { tenant_id, project_id } = demo;
  const credentials_keys = await loadCredentialsKeys(config);
  const now = new Date(clock.now_ms());
  const terms = { credentials_keys, now, audit: auditNothing };
  try {
    const made = await postgres.asTenant(tenant_id, (tx) => addSecret(tx, { tenant_id, project_id }, terms));
    return { ...demo, webhook_secret: made.secret };
  } catch (error) {
    // The file may be of another database; missing webhooks of the demo must not stop the start.
    logger.warn({ err: error }, 'the demo has no webhook secret');
    return demo;
  }
}

/** `console_url` has the token of one sign-in, behind `#`, so that no server receives it with the page's address. */
function instructions(
  { base_url, ingest_url }: DevCredentials,
  { file, console_url }: { file: string; console_url: string | undefined },
): string {
  const read = (field: keyof DevCredentials) =>
    `$(node -p ${quoted(`require(${JSON.stringify(file)}).${field}`)})`;
  const event = {
    event: 'deposit_confirmed',
    anonymous_id: 'device-1',
    properties: { amount: 2500, currency: 'EUR', transaction_id: 'tx-1', payment_method: 'card' },
  };
  return `
The service is running.
${console_url === undefined ? '' : `  console        ${console_url}\n                 (signs you in as the demo's owner, once; the next link: npm run provision -- sign-in)\n`}  base API       ${base_url}   (OpenAPI: ${base_url}/openapi.json)
  ingestion API  ${ingest_url}
  keys           ${file}

Send a deposit of 25.00 EUR, then read the player's exact totals:

  curl -s ${ingest_url}/v1/events -H "Authorization: Bearer ${read('api_key')}" \\
    -H 'Content-Type: application/json' -d '${JSON.stringify(event)}'

  curl -s ${base_url}/v1/players -H "Authorization: Bearer ${read('session_token')}"

Ctrl-C stops it; the data stays in place.
`;
}

/** The text as one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
