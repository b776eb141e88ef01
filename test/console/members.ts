import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { internally } from '../engines/http-client.ts';
import { DEMO_FILE } from '../../src/console/dev-login.ts';
import type { ConsoleBrowser } from './browser.ts';

/** Opens a page as a member of the role; pages that are opened later are the owner's again. */
export async function openAs(console_: ConsoleBrowser, role: string, path: string): Promise<Page> {
  const { service } = console_;
  const user_id = `${role}-of-the-console`;
  const response = await internally(service, 'memberships', { tenant_id: service.tenant_id, user_id, role });
  if (response.status !== 201) throw new Error(`no membership: ${response.text}`);
  const signInAs = (user: string) =>
    writeFile(join(service.data_dir, DEMO_FILE), JSON.stringify({ user_id: user }));
  await signInAs(user_id);
  try {
    return await console_.open(path);
  } finally {
    await signInAs('owner-1');
  }
}

/** Names and texts that try to be something else. */
export const HOSTILE = {
  script: `<script>document.title='owned'</script><img src=x onerror="document.title='owned'">`,
  rtl: 'abc \u202Egnp.exe\u202C العربية',
  long: 'x'.repeat(190),
} as const;

/** Whether the page is wider than its window. */
export function overflows(page: Page): Promise<boolean> {
  return page.evaluate<boolean>('document.body.scrollWidth > window.innerWidth');
}
