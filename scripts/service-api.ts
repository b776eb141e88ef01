import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as requestSecure } from 'node:https';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { readCommandConfig } from '../src/config.ts';
import type { DevCredentials } from '../src/app/greeting.ts';

/** The addresses of a running service, and its secret. */
export interface InternalApi {
  base_url: string;
  /** Where the internal API is, if that is not the base API. */
  ops_url?: string | undefined;
  internal_secret: string;
}

/** The service answered with a failure; `message` is for people. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(`${code}: ${message}`);
    this.status = status;
    this.code = code;
  }
}

interface Call {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  headers?: Record<string, string>;
  body?: unknown;
}

/**
 * Calls the service and returns the whole envelope of a success. It has no time-out: a reconciliation of a large
 * installation may run for minutes. Rejects with {@link CallFailed}, or the connection's error.
 */
export async function call<Answer>(
  url: string,
  { method = 'GET', headers = {}, body }: Call,
): Promise<Answer> {
  const response = await open(url, { method, headers, body });
  const text = await readAll(response);
  if (!isSuccess(response)) throw failureOf(response, text);
  return parse(text) as Answer;
}

/**
 * Writes what `/v1/internal/<path>` answers to a new file, which only its owner may read. When it rejects, as {@link call}
 * does or with the reason of `signal`, a part of the file may be there.
 */
export async function downloadInternal(
  api: InternalApi,
  path: string,
  body: unknown,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const response = await open(internalUrl(api, path), {
    method: 'POST',
    headers: secretOf(api),
    body,
    signal,
  });
  if (!isSuccess(response)) throw failureOf(response, await readAll(response));
  await pipeline(response, createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true }), { signal });
}

/** Sends a request; resolves when the answer begins. */
function open(
  url: string,
  { method, headers, body, signal }: Call & { signal?: AbortSignal },
): Promise<IncomingMessage> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const send = url.startsWith('https:') ? requestSecure : request;
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = send(url, {
      method,
      signal,
      headers: { ...headers, ...(text === undefined ? {} : { 'content-type': 'application/json' }) },
    });
    sent.once('response', resolve);
    sent.once('error', reject);
    sent.end(text);
  });
}

function isSuccess({ statusCode: status = 0 }: IncomingMessage): boolean {
  return status >= 200 && status <= 299;
}

function failureOf({ statusCode: status = 0 }: IncomingMessage, text: string): CallFailed {
  const { error } = parse(text) as { error?: { code: string; message: string } };
  return new CallFailed(status, error?.code ?? String(status), error?.message ?? 'no answer');
}

/** Calls `/v1/internal/<path>` and returns the envelope. */
export function callInternal<Answer>(api: InternalApi, path: string, options: Call = {}): Promise<Answer> {
  return call<Answer>(internalUrl(api, path), { ...options, headers: secretOf(api) });
}

function internalUrl(api: InternalApi, path: string): string {
  return `${api.ops_url ?? api.base_url}/v1/internal/${path}`;
}

function secretOf({ internal_secret }: InternalApi): Record<string, string> {
  return { 'x-internal-secret': internal_secret };
}

/** The flags that choose the service; they come before the environment and DATA_DIR/dev-credentials.json. */
export interface ServiceFlags {
  'base-url'?: string | undefined;
  'internal-secret'?: string | undefined;
}

/** A service; `kept` is the content of DATA_DIR/dev-credentials.json, undefined without that file. */
export interface KnownService {
  base_url: string;
  ops_url: string;
  internal_secret: string | undefined;
  kept: DevCredentials | undefined;
}

/**
 * Finds the service. The addresses come from the flags, else from DATA_DIR/dev-credentials.json, else from the
 * environment (HOST, PORT, OPS_HOST, OPS_PORT); `--base-url` stands for both. The secret comes from the flags, else from the environment, else from that file.
 */
export async function findService(flags: ServiceFlags): Promise<KnownService> {
  const config = readCommandConfig();
  const kept = await readDevCredentials(config.data_dir);
  const { host, port, ops } = config;
  const given = flags['base-url'];
  const base_url = withoutSlash(given ?? kept?.base_url ?? urlOf(host, port));
  const own_ops_url = kept === undefined ? ops && urlOf(ops.host, ops.port) : kept.ops_url;
  const ops_url = given === undefined && own_ops_url !== undefined ? withoutSlash(own_ops_url) : base_url;
  const internal_secret = flags['internal-secret'] ?? config.internal_secret ?? kept?.internal_secret;
  return { base_url, ops_url, internal_secret, kept };
}

/** The URL of a listener of this machine; one that listens on every address is found on loopback. */
function urlOf(host: string, port: number): string {
  const address = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '');
}

/** The internal API of the service of {@link findService}. Rejects when no secret is known. */
export async function findInternalApi(flags: ServiceFlags): Promise<InternalApi> {
  const { base_url, ops_url, internal_secret } = await findService(flags);
  if (internal_secret === undefined) {
    throw new Error(
      `no internal secret: start the service, or give --internal-secret (looked for ${join(readCommandConfig().data_dir, 'dev-credentials.json')})`,
    );
  }
  return { base_url, ops_url, internal_secret };
}

/** The file that a development service writes when it starts; undefined when it does not exist. */
export async function readDevCredentials(data_dir: string): Promise<DevCredentials | undefined> {
  try {
    return JSON.parse(await readFile(join(data_dir, 'dev-credentials.json'), 'utf8')) as DevCredentials;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A link that signs the user in to the console of a development service, once, within a day. */
export async function newSignInUrl(api: InternalApi, user_id: string): Promise<string> {
  const { data } = await callInternal<{ data: { sign_in_token: string } }>(api, 'dev-sign-ins', {
    method: 'POST',
    body: { user_id },
  });
  return `${api.base_url}/console/#sign-in=${data.sign_in_token}`;
}

/** A new tenant on a development service, with an owner's session and an API key. */
export interface ProvisionedTenant {
  tenant_id: string;
  project_id: string;
  session_token: string;
  api_key: string;
}

/** Creates a tenant, a session of its owner (by default one of the development issuer) and an API key of its project. */
export async function provisionTenant(
  api: InternalApi,
  tenant: { name: string; base_currency: string; project_name: string; admin_user_id: string },
  sessionOf: (user_id: string) => Promise<string> = (user_id) => newSession(api, user_id),
): Promise<ProvisionedTenant> {
  const project = await callInternal<{ data: { tenant_id: string; project_id: string } }>(api, 'tenants', {
    method: 'POST',
    body: tenant,
  });
  const session_token = await sessionOf(tenant.admin_user_id);
  const key = await call<{ data: { key: string } }>(
    `${api.base_url}/v1/projects/${project.data.project_id}/api-keys`,
    { method: 'POST', headers: { authorization: `Bearer ${session_token}` }, body: { name: tenant.name } },
  );
  return { ...project.data, session_token, api_key: key.data.key };
}

async function newSession(api: InternalApi, user_id: string): Promise<string> {
  const { data } = await callInternal<{ data: { session_token: string } }>(api, 'dev-sessions', {
    method: 'POST',
    body: { user_id },
  });
  return data.session_token;
}

async function readAll(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return {};
  }
}
