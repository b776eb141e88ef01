import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { SESSION_COOKIE } from '../../src/http/auth/browser-session.ts';
import { freePort } from '../engines/free-port.ts';
import { startTestService, type TestService } from '../engines/service.ts';
import { openTestPlatform } from '../engines/wiring.ts';
import { CookieJar, OWN_PAGE, type Answer } from './cookie-jar.ts';
import { startProvider, type TestProvider } from './identity-provider.ts';

export const CALLBACK = '/console/auth/callback';
const HOME = '/console/';

/** A service whose users an identity provider signs in. Of its users, `owner-1` has a tenant and `nobody` has none. */
export interface ProviderFixture {
  service: TestService;
  provider: TestProvider;
  /** How far the clock of the service is ahead; 0 again after each test. */
  ahead_ms: number;
  /** The address of a path of the service. */
  at: (path: string) => string;
  /** A browser that is signed in. */
  signedIn: () => Promise<CookieJar>;
  /** A browser that the provider has just sent back; the address has not been opened yet. */
  sentBack: (return_to?: string) => Promise<{ jar: CookieJar; back: URL }>;
  /** Lists players, as a page of the console does. */
  players: (jar: CookieJar, headers?: Record<string, string>) => Promise<Answer>;
}

/** Declares the hooks of a test file; the fixture is usable in its tests. The provider begins as `is_up` says. */
export function provideSignIn({ is_up = true } = {}): ProviderFixture {
  const fixture = { ahead_ms: 0 } as ProviderFixture;
  beforeAll(async () => {
    const port = await freePort();
    const public_url = `http://127.0.0.1:${port}`;
    fixture.provider = await startProvider(public_url);
    fixture.provider.is_up = is_up;
    const overrides = { port, public_url, console_provider: fixture.provider.settings };
    fixture.service = await startTestService(overrides, async (config) => {
      const platform = await openTestPlatform(config);
      const now_ms = () => platform.clock.now_ms() + fixture.ahead_ms;
      return { ...platform, clock: { ...platform.clock, now_ms } };
    });
  });
  afterAll(async () => {
    await fixture.service.close();
    await fixture.provider.close();
  });
  afterEach(() => {
    Object.assign(fixture.provider, { forge: undefined, user: 'owner-1', redeemed: [] });
    fixture.ahead_ms = 0;
  });
  const { at, signedIn, sentBack, players } = actions(fixture);
  return Object.assign(fixture, { at, signedIn, sentBack, players });
}

function actions(
  fixture: ProviderFixture,
): Pick<ProviderFixture, 'at' | 'signedIn' | 'sentBack' | 'players'> {
  const at = (path: string) => `${fixture.service.base_url}${path}`;
  return {
    at,
    signedIn: async () => {
      const jar = new CookieJar();
      const page = await jar.open(at('/console/auth/login'), HOME);
      expect([page.url, page.text]).toEqual([at(HOME), '']);
      return jar;
    },
    sentBack: async (return_to = HOME) => {
      const jar = new CookieJar();
      const login = at(`/console/auth/login?return_to=${encodeURIComponent(return_to)}`);
      const { url } = await jar.open(login, CALLBACK);
      return { jar, back: new URL(url) };
    },
    players: (jar, headers = {}) => jar.send('GET', at('/v1/players'), { ...OWN_PAGE, ...headers }),
  };
}

/** The code of an error of the API. */
export function codeOf({ text }: Answer): string | undefined {
  return (JSON.parse(text) as { error?: { code: string } }).error?.code;
}

/** Sends a logout token as the provider does. */
export function tell(fixture: ProviderFixture, token: string): Promise<Answer> {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const url = fixture.at('/console/auth/backchannel-logout');
  return new CookieJar().send('POST', url, form, `logout_token=${token}`);
}

/** Expects a page that says why there is no session, and that there is none. */
export async function expectNoSession(
  fixture: ProviderFixture,
  jar: CookieJar,
  { answer, status }: { answer: Answer; status: number },
): Promise<void> {
  expect([answer.status, answer.headers['cache-control']]).toEqual([status, 'no-store']);
  expect(answer.headers['content-type']).toMatch(/^text\/html/);
  expect(jar.valueOf(SESSION_COOKIE)).toBeUndefined();
  expect((await fixture.players(jar)).status).toBe(401);
}
