import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { DEMO_FILE } from '../../src/console/dev-login.ts';
import { startTestService, type TestService } from '../engines/service.ts';
import { launchBrowser } from './chromium.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
/** How long a test waits for what a page should show. */
const WAIT_MS = 20_000;

/** A service with a real browser that is signed in as the owner of its tenant. */
export interface ConsoleBrowser {
  service: TestService;
  browser: Browser;
  /** Opens a page below `/console/`, signed in. Its script errors and policy violations fail the test: see `close`. */
  open(path: string, options?: PageOptions): Promise<Page>;
  /** Closes browser and service. Throws when a page has thrown, or its policy was violated. */
  close(): Promise<void>;
}

export interface PageOptions {
  theme?: 'light' | 'dark';
  width?: number;
  height?: number;
  /** Messages about what a frame inside of the page may not load, which its own policy is there to refuse. */
  blocked?: RegExp;
  /** Opened before the tests, not by one: it stays open until `close`. */
  is_kept?: boolean;
}

/** Starts a service and the browser. */
export async function openConsole(): Promise<ConsoleBrowser> {
  const service = await startTestService();
  await writeFile(join(service.data_dir, DEMO_FILE), JSON.stringify({ user_id: 'owner-1' }));
  const browser = await launchBrowser();
  const contexts = new Set<BrowserContext>();
  const faults: string[] = [];
  return {
    service,
    browser,
    open: async (path, { theme = 'light', width = 1280, height = 800, blocked, is_kept = false } = {}) => {
      const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme });
      contexts.add(context);
      // Its page would go on asking the service while the next tests run.
      const close = async () => {
        contexts.delete(context);
        await context.close();
      };
      if (!is_kept) onTestFinished(close);
      context.setDefaultTimeout(WAIT_MS);
      const page = await context.newPage();
      page.on('pageerror', (error) => faults.push(`${path}: ${error.message}`));
      page.on('console', (message) => {
        const text = message.text();
        const is_fault = /Content Security Policy/i.test(text) && blocked?.test(text) !== true;
        if (is_fault) faults.push(`${path}: ${text}`);
      });
      await page.goto(`${service.base_url}/console/${path}`);
      await page.getByRole('navigation', { name: 'Screens' }).waitFor();
      return page;
    },
    close: async () => {
      for (const context of contexts) await context.close();
      await browser.close();
      await service.close();
      expect(faults).toEqual([]);
    },
  };
}

/**
 * What axe finds against WCAG 2.2 AA in what the page shows now, and headings that skip a level; each finding with its rule
 * and element.
 */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // By the protocol of the developer tools, because the policy of the page forbids inline scripts.
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
    });
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
    );
  });
}
