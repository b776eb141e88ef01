import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt, exportJWK, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose';
import { Provider, type Context } from 'oidc-provider';
import type { ConsoleProvider } from '../../src/config.ts';
import { newKey, type SigningKey } from '../http/auth/identity-provider.ts';

export const CLIENT_ID = 'console';
const CLIENT_SECRET = 'secret-of-the-console-0123456789';

/** Makes another ID token of the claims of the right one. */
export type Forge = (claims: JWTPayload, key: SigningKey) => Promise<string>;

/** oidc-provider, a certified identity provider, in this process. Its users have no password: `user` decides. */
export interface TestProvider {
  /** Of the service that trusts it. */
  settings: ConsoleProvider;
  key: SigningKey;
  /** Who is signed in when a browser comes; undefined: nobody, the provider answers with `access_denied`. */
  user: string | undefined;
  /** False: connections are closed without an answer. */
  is_up: boolean;
  /** Replaces the ID token of the next sign-ins. */
  forge: Forge | undefined;
  /** Bodies of the requests to its token endpoint. */
  redeemed: URLSearchParams[];
  /** The status of the last logout that it told the service of. */
  told: 'success' | 'error' | undefined;
  close(): Promise<void>;
}

/** Starts the provider, with the service at `service_url` as its only client. */
export async function startProvider(service_url: string): Promise<TestProvider> {
  const key = await newKey('provider-key');
  let handle: (request: IncomingMessage, response: ServerResponse) => Promise<void> = () => Promise.resolve();
  const server = createServer((request, response) => {
    if (!test.is_up) return void request.socket.destroy();
    return void handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // Another host than the service, which is at 127.0.0.1: cookies do not know ports.
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, await configuration(service_url, key));
  const inside = provider.callback();
  const test: TestProvider = {
    settings: { issuer, client_id: CLIENT_ID, client_secret: CLIENT_SECRET },
    key,
    user: 'owner-1',
    is_up: true,
    forge: undefined,
    redeemed: [],
    told: undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  provider.on('backchannel.success', () => (test.told = 'success'));
  provider.on('backchannel.error', () => (test.told = 'error'));
  handle = async (request, response) => {
    if (request.url?.startsWith('/interaction/') === true) {
      const { user } = test;
      const refused = { error: 'access_denied', error_description: `<script>${'x'.repeat(50)}</script>` };
      const result = user === undefined ? refused : { login: { accountId: user } };
      return provider.interactionFinished(request, response, result);
    }
    if (request.url === '/token') intercept(test, request, response);
    return inside(request, response);
  };
  return test;
}

async function configuration(service_url: string, key: SigningKey): Promise<Record<string, unknown>> {
  const jwk = { ...(await exportJWK(key.privateKey)), kid: key.kid, alg: key.alg, use: 'sig' };
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [`${service_url}/console/auth/callback`],
        post_logout_redirect_uris: [`${service_url}/console/`],
        backchannel_logout_uri: `${service_url}/console/auth/backchannel-logout`,
        backchannel_logout_session_required: true,
      },
    ],
    jwks: { keys: [jwk] },
    cookies: { keys: ['signs the cookies of the provider'] },
    claims: { openid: ['sub', 'sid'], profile: ['name'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: true },
      backchannelLogout: { enabled: true },
    },
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId, name: `Name of ${accountId}` }),
    }),
    // Without its own dispatcher, which refuses addresses of this machine.
    fetch: (url: string, { dispatcher: _own, ...options }: RequestInit & { dispatcher?: unknown }) =>
      fetch(url, options),
    // Nobody is asked for consent.
    loadExistingGrant: async ({ oidc }: Context) => {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client.clientId,
        accountId: oidc.session.accountId,
      });
      grant.addOIDCScope('openid profile');
      await grant.save();
      return grant;
    },
  };
}

/** Notes what is sent to the token endpoint, and replaces the ID token of its answer. */
function intercept(test: TestProvider, request: IncomingMessage, response: ServerResponse): void {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => test.redeemed.push(new URLSearchParams(body)));
  const end = response.end.bind(response) as (text: string) => void;
  const replaced = async (text: string) => {
    const answer = JSON.parse(text) as { id_token?: string };
    if (test.forge === undefined || answer.id_token === undefined) return text;
    return JSON.stringify({ ...answer, id_token: await test.forge(decodeJwt(answer.id_token), test.key) });
  };
  response.end = ((text: string | Buffer) => {
    void replaced(text.toString()).then((other) => {
      response.setHeader('content-length', Buffer.byteLength(other));
      end(other);
    });
    return response;
  }) as ServerResponse['end'];
}

/** Signs the claims with the key, as the provider does; claims given as undefined are left out. */
export function signed(
  claims: Record<string, unknown>,
  key: Pick<SigningKey, 'alg' | 'kid' | 'privateKey'>,
  header: Record<string, unknown> = {},
): Promise<string> {
  return new SignJWT(given(claims))
    .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
    .sign(key.privateKey);
}

/** The claims as a token of the algorithm `none`. */
export function unsigned(claims: Record<string, unknown>): string {
  return new UnsecuredJWT(given(claims)).encode();
}

function given(claims: Record<string, unknown>): JWTPayload {
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
}

/** The token with another user, under the signature that it had. */
export function changed(token: string): string {
  const [head, , signature] = token.split('.');
  const claims = Buffer.from(JSON.stringify({ ...decodeJwt(token), sub: 'nobody' })).toString('base64url');
  return `${head}.${claims}.${signature}`;
}

/** The claims signed with the secret of the client, which is no signature of the provider. */
export function sharedSecret(claims: JWTPayload, kid: string): Promise<string> {
  const secret = new TextEncoder().encode(CLIENT_SECRET);
  return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid }).sign(secret);
}
