import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  calculatePKCECodeChallenge,
  ClientSecretBasic,
  ClientSecretPost,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  type ClientAuth,
  type Configuration,
  type CustomFetch,
} from 'openid-client';
import { RemoteKeys } from '../http/auth/remote-keys.ts';
import { isUserId, type TrustedIssuer } from '../http/auth/token-verifier.ts';
import type { ConsoleProvider } from '../config.ts';
import type { Clock } from '../platform/clock.ts';
import { failureOf, SignInFailed } from './sign-in-failed.ts';
import type { SignIn } from './sealed-sign-in.ts';

/** Every request to the provider ends within this time. */
const TIMEOUT_S = 5;
/** Metadata is fetched again when it is this old; while that fails, the old one is used. */
const METADATA_AGE_MS = 3_600_000;
/** After a failed fetch the next one begins this much later; until then sign-ins fail at once. */
const RETRY_MS = 5_000;
/** Sign-ins whose code is being redeemed at once, so that a slow provider does not pile them up. */
const MAX_REDEEMING = 32;
const MAX_NAME_LENGTH = 200;
/** A longer token is not stored: the provider would not take it in an address either. */
const MAX_ID_TOKEN_LENGTH = 8_192;

/** A user whom the provider has signed in. */
export interface ProviderUser {
  user_id: string;
  display_name: string | null;
  /** The session at the provider, if it names it. */
  provider_sid: string | null;
  /** Null when it is too long to be sent back. */
  id_token: string | null;
}

interface Options {
  settings: ConsoleProvider;
  /** Where the provider sends users after the sign-in. */
  redirect_uri: string;
  /** Where it sends them after they have signed out. */
  home_url: string;
  clock: Clock;
}

/**
 * The identity provider of the console's users. Nothing is asked of it before it is needed, and the service works without
 * it, but for new sign-ins.
 */
export class IdentityProvider {
  readonly #options: Options;
  #known: Configuration | undefined;
  #fetched_at_ms = -Infinity;
  #failed_at_ms = -Infinity;
  #fetching: Promise<Configuration> | undefined;
  #keys: { jwks_uri: string; keys: RemoteKeys } | undefined;
  #redeeming = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * Begins a sign-in that ends at `return_to`: what the browser is to keep, and where it is to go. Rejects with
   * {@link SignInFailed}.
   */
  async begin(return_to: string): Promise<{ sign_in: SignIn; url: string }> {
    const { clock, redirect_uri } = this.#options;
    const provider = await this.#configuration();
    const sign_in = {
      state: randomState(),
      nonce: randomNonce(),
      code_verifier: randomPKCECodeVerifier(),
      return_to,
      began_at_ms: clock.now_ms(),
    };
    const url = buildAuthorizationUrl(provider, {
      redirect_uri,
      scope: 'openid profile',
      state: sign_in.state,
      nonce: sign_in.nonce,
      code_challenge: await calculatePKCECodeChallenge(sign_in.code_verifier),
      code_challenge_method: 'S256',
    });
    return { sign_in, url: url.href };
  }

  /**
   * The user of the provider's answer, which is the query of the callback. Checked are state, issuer and, by redeeming the
   * code with the PKCE verifier, the ID token: signature, issuer, audience, times and nonce. Rejects with
   * {@link SignInFailed}.
   */
  async finish(query: URLSearchParams, sign_in: SignIn): Promise<ProviderUser> {
    if (this.#redeeming >= MAX_REDEEMING) throw new SignInFailed('busy', 'too many codes are being redeemed');
    this.#redeeming++;
    try {
      return await this.#redeem(query, sign_in);
    } catch (error) {
      throw failureOf(error);
    } finally {
      this.#redeeming--;
    }
  }

  async #redeem(query: URLSearchParams, { state, nonce, code_verifier }: SignIn): Promise<ProviderUser> {
    const provider = await this.#configuration();
    const tokens = await authorizationCodeGrant(
      provider,
      new URL(`${this.#options.redirect_uri}?${query.toString()}`),
      {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: code_verifier,
        idTokenExpected: true,
      },
    );
    const claims = tokens.claims();
    const { id_token = '' } = tokens;
    if (!isUserId(claims?.sub)) throw new SignInFailed('invalid', 'the ID token names no user');
    const { sub, sid, name, preferred_username } = claims;
    const names = [name, preferred_username].map((one) => storable(one, MAX_NAME_LENGTH));
    return {
      user_id: sub,
      display_name: names.find((one) => one !== null) ?? null,
      provider_sid: isUserId(sid) ? sid : null,
      id_token: id_token.length <= MAX_ID_TOKEN_LENGTH ? id_token : null,
    };
  }

  /** Where the browser ends the provider's session; null when the provider has no such address, or does not answer. */
  async logoutUrl(id_token: string): Promise<string | null> {
    try {
      const provider = await this.#configuration();
      if (provider.serverMetadata().end_session_endpoint === undefined) return null;
      const { home_url } = this.#options;
      const parameters = { id_token_hint: id_token, post_logout_redirect_uri: home_url };
      return buildEndSessionUrl(provider, parameters).href;
    } catch {
      // The session here has ended; that is what the user sees.
      return null;
    }
  }

  /** Whose logout tokens count. Rejects with {@link SignInFailed} when the provider does not answer. */
  async issuerOfLogouts(): Promise<TrustedIssuer> {
    const { settings, clock } = this.#options;
    const { issuer, jwks_uri } = (await this.#configuration()).serverMetadata();
    if (jwks_uri === undefined) throw new SignInFailed('invalid', 'the provider publishes no keys');
    if (this.#keys?.jwks_uri !== jwks_uri)
      this.#keys = { jwks_uri, keys: new RemoteKeys(new URL(jwks_uri), clock) };
    return { issuer, audience: settings.client_id, keys: this.#keys.keys.get };
  }

  /** Concurrent callers share one fetch. */
  async #configuration(): Promise<Configuration> {
    const now_ms = this.#options.clock.now_ms();
    const known = this.#known;
    if (known !== undefined && isWithin(now_ms, this.#fetched_at_ms, METADATA_AGE_MS)) return known;
    if (isWithin(now_ms, this.#failed_at_ms, RETRY_MS)) {
      if (known !== undefined) return known;
      throw new SignInFailed('unavailable', 'its metadata could not be fetched a moment ago');
    }
    this.#fetching ??= this.#fetch(now_ms).finally(() => {
      this.#fetching = undefined;
    });
    try {
      return await this.#fetching;
    } catch (error) {
      if (known !== undefined) return known;
      throw error;
    }
  }

  async #fetch(began_at_ms: number): Promise<Configuration> {
    const { issuer, client_id, client_secret } = this.#options.settings;
    const url = new URL(issuer);
    try {
      const found = await discovery(url, client_id, undefined, authenticationBy(client_secret), {
        timeout: TIMEOUT_S,
        [customFetch]: boundedFetch,
        // The configuration allows http on loopback alone.
        execute:
          url.protocol === 'http:'
            ? [enableNonRepudiationChecks, allowInsecureRequests]
            : [enableNonRepudiationChecks],
      });
      this.#fetched_at_ms = began_at_ms;
      this.#known = found;
      return found;
    } catch (error) {
      this.#failed_at_ms = this.#options.clock.now_ms();
      throw failureOf(error);
    }
  }
}

/** By the method that the provider supports; without that information by the one that the standard makes the default. */
function authenticationBy(client_secret: string | undefined): ClientAuth {
  if (client_secret === undefined) return None();
  const basic = ClientSecretBasic(client_secret);
  const post = ClientSecretPost(client_secret);
  return (server, ...rest) => {
    const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (supported.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
}

function isWithin(now_ms: number, since_ms: number, span_ms: number): boolean {
  const age_ms = now_ms - since_ms;
  return age_ms >= 0 && age_ms < span_ms;
}

/** A claim that is a string, shortened; null for any other, and for one that cannot be stored. */
function storable(claim: unknown, max_length: number): string | null {
  if (typeof claim !== 'string' || claim.trim() === '' || claim.includes('\0')) return null;
  return Array.from(claim.trim()).slice(0, max_length).join('');
}

/** Metadata, keys and tokens are far smaller. */
const MAX_BYTES = 512 * 1024;

/**
 * `fetch` for the identity provider: it follows no redirect, and rejects with TypeError when the answer is longer than
 * 512 KiB. The signal of the options limits the time, the body included.
 */
const boundedFetch: CustomFetch = async (url, options) => {
  const { body, ...rest } = options;
  const answer = await fetch(url, {
    ...rest,
    redirect: 'manual',
    ...(body === undefined ? {} : { body }),
  });
  const bytes: Uint8Array[] = [];
  let length = 0;
  if (answer.body !== null) {
    for await (const chunk of answer.body) {
      length += chunk.length;
      if (length > MAX_BYTES) throw new TypeError('the answer of the identity provider is too long');
      bytes.push(chunk);
    }
  }
  const { status, headers } = answer;
  return new Response(length === 0 ? null : Buffer.concat(bytes), { status, headers });
};
