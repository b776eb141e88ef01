import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { TestService } from '../engines/service.ts';
import { sharedService } from '../engines/shared-service.ts';
import { launchBrowser } from './chromium.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
/** How long a test waits for what a page should show. */
const WAIT_MS = 20_000;
/** Characters of a page that are added to the failure of its test. */
const MOST_SHOWN = 3_000;

/** A service with a real browser that is signed in as the owner of its tenant. */
export interface ConsoleBrowser {
  service: TestService;
  /**
   * Opens a page below `/console/`, signed in; it is the test's until the test has ended. Its script errors and policy
   * violations fail the file: see `close`.
   */
  open(path: string, options?: PageOptions): Promise<Page>;
  /** Signs in as the owner in another tab of the page's browser, by a new link. */
  signInElsewhere(page: Page): Promise<void>;
  /** Closes what is open. Throws when a page has thrown, or its policy was violated. */
  close(): Promise<void>;
}

export interface PageOptions {
  theme?: 'light' | 'dark';
  width?: number;
  height?: number;
  /** Messages about what a frame inside of the page may not load, which its own policy is there to refuse. */
  blocked?: RegExp;
  /** Who signs in; absent: the owner. */
  user?: string;
  /** In a browser without cookies and other traces of earlier tests, which no later test uses. */
  is_private?: boolean;
}

/** The browser of this worker, which ends with it. */
let launched: Promise<Browser> | undefined;

/** What a page shows, which is not what it was opened for when a later test uses it. */
interface Shown {
  path: string;
  blocked: RegExp | undefined;
}

/** A user's cookies and storage, with the pages that no test uses now. */
interface Profile {
  context: BrowserContext;
  free: Page[];
}

const shown = new WeakMap<Page, Shown>();

/**
 * Opens the console of a new tenant. Tests share a page of each user, which is loaded anew for each test: a new page
 * costs three times as much.
 */
export async function openConsole(): Promise<ConsoleBrowser> {
  const [service, browser] = await Promise.all([sharedService(), (launched ??= launchBrowser())]);
  const profiles = new Map<string, Profile>();
  const faults: string[] = [];
  const newProfile = async (): Promise<Profile> => {
    const context = await browser.newContext();
    context.setDefaultTimeout(WAIT_MS);
    return { context, free: [] };
  };
  const linkTo = (path: string, user: string) => {
    const token = service.service.auth?.dev_issuer?.issueSignIn(user) ?? '';
    return `${service.base_url}/console/${path}#sign-in=${token}`;
  };
  return {
    service,
    signInElsewhere: async (page) => {
      const other = await page.context().newPage();
      await other.goto(linkTo('players', service.owner));
      await other.getByRole('navigation', { name: 'Screens' }).waitFor();
      await other.close();
    },
    open: async (path, options = {}) => {
      const {
        theme = 'light',
        width = 1280,
        height = 800,
        blocked,
        user = service.owner,
        is_private,
      } = options;
      const profile = (is_private === true ? undefined : profiles.get(user)) ?? (await newProfile());
      if (is_private !== true) profiles.set(user, profile);
      const page = profile.free.pop() ?? (await watchedPage(profile.context, faults));
      onTestFinished(async ({ task }) => {
        for (const error of task.result?.errors ?? []) await addShown(error, page);
        const is_clean = is_private !== true && (await cleaned(page));
        if (is_clean) profile.free.push(page);
        else {
          if (profiles.get(user) === profile) profiles.delete(user);
          await profile.context.close();
        }
      });
      shown.set(page, { path, blocked });
      const size = page.viewportSize();
      // The page that is still shown would be laid out anew.
      if (size?.width !== width || size.height !== height) await page.setViewportSize({ width, height });
      await page.emulateMedia({ media: null, colorScheme: theme });
      // Otherwise a page that shows this path already would only be told of another fragment.
      await page.goto('about:blank');
      // The link signs in when there is no session, or when a test has ended it.
      await page.goto(linkTo(path, user));
      await page.getByRole('navigation', { name: 'Screens' }).waitFor();
      return page;
    },
    close: async () => {
      for (const { context } of profiles.values()) await context.close();
      await service.close();
      expect(faults).toEqual([]);
    },
  };
}

async function watchedPage(context: BrowserContext, faults: string[]): Promise<Page> {
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.push(`${shown.get(page)?.path}: ${error.message}`));
  page.on('console', (message) => {
    const text = message.text();
    const { path, blocked } = shown.get(page) ?? {};
    if (/Content Security Policy/i.test(text) && blocked?.test(text) !== true)
      faults.push(`${path}: ${text}`);
  });
  return page;
}

/** Adds to a failure where its page was and what it showed: the page is gone when the failure is read. */
async function addShown(failure: { stack?: string }, page: Page): Promise<void> {
  const text = await page.evaluate<string>('document.body.innerText').catch(String);
  failure.stack = `${failure.stack ?? ''}\nThe page ${page.url()} showed:\n${text.slice(0, MOST_SHOWN)}`;
}

/** Takes away what a test has left in its page; false when the page cannot be used any more. */
async function cleaned(page: Page): Promise<boolean> {
  for (const event of ['request', 'requestfailed', 'dialog']) page.removeAllListeners(event);
  try {
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.evaluate('localStorage.clear(); sessionStorage.clear()');
    return true;
  } catch {
    return false;
  }
}

/** Goes to a path without loading the page anew, so that what a test answers for the API stays. */
export const goTo = (page: Page, path: string) =>
  page.evaluate(
    `history.pushState({}, '', '/console/${path}'); dispatchEvent(new PopStateEvent('popstate'))`,
  );

/** Resolves when the page has done what it has begun. */
const AT_REST = 'new Promise((done) => requestIdleCallback(() => requestIdleCallback(done)))';

/** Goes to a path like {@link goTo}, and waits until everything that its screen asks is answered and shown. */
export async function show(page: Page, path: string): Promise<void> {
  const open = new Set<Request>();
  const begun = (request: Request) => {
    // A preview's frame may ask for what its policy forbids, which is never answered.
    if (request.isNavigationRequest() || request.frame() !== page.mainFrame()) return;
    if (request.resourceType() !== 'eventsource') open.add(request);
  };
  const ended = (request: Request) => {
    open.delete(request);
  };
  page.on('request', begun);
  page.on('requestfinished', ended);
  page.on('requestfailed', ended);
  try {
    await goTo(page, path);
    do await page.evaluate(AT_REST);
    while (open.size > 0);
    await page.getByRole('heading', { level: 1 }).waitFor();
  } finally {
    page.off('request', begun);
    page.off('requestfinished', ended);
    page.off('requestfailed', ended);
  }
}

/** Longer than screens wait before they ask again. */
const REFRESH_MS = 11_000;

/** Lets the installed clock of a page go on until the page says that what it shows is old. */
export async function becomesOld(page: Page): Promise<void> {
  await expect
    .poll(async () => {
      await page.clock.runFor(REFRESH_MS);
      return page.getByText('it could not be updated').count();
    })
    .toBe(1);
}

/**
 * What axe finds against WCAG 2.2 AA in what the page shows now, and headings that skip a level; each finding with its rule
 * and element.
 */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // By the protocol of the developer tools, because the policy of the page forbids inline scripts.
  if (!(await page.evaluate<boolean>(`'axe' in globalThis`)))
    await page.evaluate(await readFile(AXE, 'utf8'));
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run: (options: object) => Promise<{ violations: { id: string; nodes: { target: string[] }[] }[] }>;
      };
    };
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
    const { violations } = await axe.run({
      runOnly: { type: 'tag', values: tags },
      rules: { 'heading-order': { enabled: true } },
      // Nothing is read of what passes.
      resultTypes: ['violations'],
    });
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
    );
  });
}

/** What axe finds in what the page shows now, in both themes. */
export async function faultsInBothThemes(page: Page): Promise<string[]> {
  const faults: string[] = [];
  for (const theme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme: theme });
    for (const fault of await accessibilityFaults(page)) faults.push(`${theme}: ${fault}`);
  }
  return faults;
}
