import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

/**
 * The browser of the system's packages; scripts/install-test-engines.sh installs it. The first is Chromium without its
 * windows, menus and tabs, which take as much time as the pages.
 */
const EXECUTABLES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/**
 * Starts the browser; `port` opens its debugging protocol there. Rejects when there is no browser: a skipped suite would
 * prove nothing.
 */
export async function launchBrowser(port?: number): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'] ?? EXECUTABLES.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error('no Chromium: run sh scripts/install-test-engines.sh');
  const args = port === undefined ? ['--no-sandbox'] : ['--no-sandbox', `--remote-debugging-port=${port}`];
  // The sandbox of Chromium needs a user other than root, which containers of builds often lack.
  return chromium.launch({ executablePath, args });
}
