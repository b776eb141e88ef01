import type { Page } from 'playwright-core';

// Measurements inside of a page. Scripts are texts, because this code is compiled without the types of the browser.

/** What has to be true of the page before it counts as painted: a JavaScript expression. */
export type Painted = string;

/**
 * Does `act` (a JavaScript statement) in the page; milliseconds until `painted` holds and the frame after it was drawn.
 * Looks once per frame. Rejects after 20 s.
 */
export function untilPainted(page: Page, act: string, painted: Painted): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve, reject) => {
    const started_ms = performance.now();
    const look = () => {
      const passed_ms = performance.now() - started_ms;
      if (passed_ms > 20000) reject(new Error('not painted: ' + ${JSON.stringify(painted)}));
      else if (${painted}) requestAnimationFrame(() => resolve(performance.now() - started_ms));
      else requestAnimationFrame(look);
    };
    ${act};
    requestAnimationFrame(look);
  })`);
}

/** A click on the first element that the selector finds. */
export const click = (selector: string): string =>
  `document.querySelector(${JSON.stringify(selector)}).click()`;

/** Writes into a field as React sees it. */
export const type = (selector: string, text: string): string => `(() => {
  const field = document.querySelector(${JSON.stringify(selector)});
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, ${JSON.stringify(text)});
  field.dispatchEvent(new Event('input', { bubbles: true }));
})()`;

/** Whether the page has the element. */
export const has = (selector: string): Painted =>
  `document.querySelector(${JSON.stringify(selector)}) !== null`;

/** Whether nothing of the page is loading. */
export const COMPLETE: Painted = `document.querySelector('main [class*=loading]') === null`;

/** Whether the main part of the page shows the text. */
export const shows = (text: string): Painted =>
  `document.querySelector('main').textContent.includes(${JSON.stringify(text)})`;
