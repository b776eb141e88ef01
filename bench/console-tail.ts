import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { TestService } from '../test/engines/service.ts';
import { percentile, result, type Result } from './measure.ts';
import { EVENTS_PER_SECOND, post, sendSteadily } from './steady.ts';

const PROBE_EVERY_MS = 20;
const SECONDS = Number(process.env['BENCH_CONSOLE_TAIL_SECONDS'] ?? 180);
/** The heap is compared from here on: code is compiled, and the list is full. */
const WARM_UP_S = 30;

/** Notes in the page when each row of the tail was painted for the first time, by the identity that it shows. */
const WATCH = `globalThis.painted = {};
(function look() {
  for (const row of document.querySelectorAll('[role=grid] [data-index]')) {
    const identity = row.children[2]?.textContent ?? '';
    if (identity.startsWith('probe-')) globalThis.painted[identity] ??= Date.now();
  }
  requestAnimationFrame(look);
})()`;

/** From the 202 of an event to its row, painted, while the stream shows a share of the events; and the tab's memory. */
export async function benchTail(page: Page, service: TestService): Promise<Result[]> {
  const stop = new AbortController();
  const { base_url, ingest_url, api_key } = service;
  await page.goto(`${base_url}/console/events?tab=live`);
  await page.locator('main [role=toolbar]').waitFor();
  const target = { ingest_url, api_key };
  const load = sendSteadily(target, stop.signal);
  const accepted_ms = new Map<string, number>();
  const heap_bytes: number[] = [];
  const started_ms = Date.now();
  let probing = Promise.resolve();
  try {
    await page.evaluate(WATCH);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Performance.enable');
    probing = (async () => {
      for (let i = 0; !stop.signal.aborted; i++) {
        const anonymous_id = `probe-${i}`;
        await post(target, { event: 'session_start', anonymous_id, properties: { device: 'web' } });
        accepted_ms.set(anonymous_id, Date.now());
        await sleep(PROBE_EVERY_MS);
      }
    })();
    await sleep(WARM_UP_S * 1_000);
    while (Date.now() - started_ms < SECONDS * 1_000) {
      await devtools.send('HeapProfiler.collectGarbage');
      const { metrics } = await devtools.send('Performance.getMetrics');
      heap_bytes.push(metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN);
      await sleep(5_000);
    }
  } finally {
    stop.abort();
    await Promise.all([load, probing]);
  }
  const painted = await page.evaluate<Record<string, number>>('globalThis.painted');
  const waits_ms = Object.entries(painted).flatMap(([id, at_ms]) => {
    const accepted = accepted_ms.get(id);
    return accepted === undefined ? [] : [at_ms - accepted];
  });
  const third = Math.ceil(heap_bytes.length / 3);
  const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
  const [early, late] = [mean(heap_bytes.slice(0, third)), mean(heap_bytes.slice(-third))];
  return [
    result(
      `console: live tail at ${EVENTS_PER_SECOND} events/s, accepted → painted, p95 in ms`,
      [percentile(waits_ms, 0.95)],
      { at_most: 500 },
      `p50 ${percentile(waits_ms, 0.5).toFixed(0)} ms of ${waits_ms.length} events`,
    ),
    result(
      'console: heap of the tab with the live tail, last third ÷ first third',
      [late / early],
      { at_most: 1.05 },
      `${(early / 1e6).toFixed(1)} and ${(late / 1e6).toFixed(1)} MB, in ${SECONDS} s`,
    ),
  ];
}
