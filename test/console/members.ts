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

/** Whether the page, its main part or an open dialog is wider than its place. */
export async function overflows(page: Page): Promise<boolean> {
  return (await wideParts(page)).length > 0;
}

/** Which of the page, its main part and the open dialogs are wider than their place, and by what. */
export function wideParts(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`
    [document.body, ...document.querySelectorAll('main, dialog[open] *')]
      .filter((part) => part.tagName === 'BODY' ? part.scrollWidth > innerWidth
        : part.scrollWidth > part.clientWidth + 1 && (part.tagName === 'MAIN' || getComputedStyle(part).overflowY === 'auto' && part.tabIndex < 0))
      .map((part) => part.tagName + ': ' + [...part.querySelectorAll('*')]
        .filter((inner) => inner.getBoundingClientRect().right > part.getBoundingClientRect().right + 1)
        .slice(0, 3).map((inner) => inner.outerHTML.slice(0, 120)).join(' | '))`);
}

/** By how many pixels, at most, the cells of the lists and tables of the page do not begin below their heads. */
export function misplacement(page: Page): Promise<number> {
  return page.evaluate<number>(`Math.max(0, ...[...document.querySelectorAll('[role=grid], table')].flatMap((table) => {
    const heads = [...table.querySelectorAll('[role=columnheader], thead th')];
    return [...table.querySelectorAll('[role=row], tbody tr')].flatMap((row) =>
      [...row.querySelectorAll('[role=gridcell], :is(td, th)')].map((cell, i) => {
        const [is, ought] = [cell, heads[i]].map((one) => one.getBoundingClientRect());
        return Math.max(Math.abs(is.left - ought.left), Math.abs(is.right - ought.right));
      }));
  }))`);
}
