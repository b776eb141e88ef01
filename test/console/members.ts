import type { Page } from 'playwright-core';
import { internally } from '../engines/http-client.ts';
import type { TestService } from '../engines/service.ts';
import type { ConsoleBrowser } from './browser.ts';

/** Opens a page as a member of the role. */
export async function openAs(console_: ConsoleBrowser, role: string, path: string): Promise<Page> {
  const { service } = console_;
  const user = `${role}-of-${service.owner}`;
  await makeMember(service, user, role);
  return console_.open(path, { user });
}

/** Makes a user a member of the tenant. */
export async function makeMember(
  service: Pick<TestService, 'base_url' | 'internal_secret' | 'tenant_id'>,
  user_id: string,
  role: string,
): Promise<void> {
  const { tenant_id } = service;
  const { status, text } = await internally(service, 'memberships', { tenant_id, user_id, role });
  if (status >= 300) throw new Error(`no membership: ${text}`);
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
