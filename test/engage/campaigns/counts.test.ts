import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CampaignCounts } from '../../../src/engage/campaigns/counts.ts';
import type { CampaignRow } from '../../../src/engage/campaigns/queries.ts';
import type { Postgres } from '../../../src/platform/postgres/port.ts';

// Who counts the messages of campaigns from before they were counted as they change, and who waits for it.

const ref = { tenant_id: 'tenant', project_id: 'project', campaign_id: 'first' };
const former = { is_counted: false } as CampaignRow;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Counts in a Postgres whose scans end when the test says so. */
function counting() {
  const clock = { ms: 1_000_000, now_ms: () => clock.ms };
  const scans: { resolve: (rows: []) => void; reject: (error: Error) => void }[] = [];
  const counted = new Set<string>();
  /** A statement is the texts and values of it. */
  const tx = (texts: readonly string[], ...values: unknown[]): unknown[] => [...texts, ...values].flat();
  const run = (statement: (sql: typeof tx) => unknown[]) => {
    const written = statement(tx);
    const is_counted = [...counted].some((campaign_id) => written.includes(campaign_id));
    const is_of_campaign = written.some((text) => String(text).includes('from campaigns'));
    return is_of_campaign ? [{ is_counted }] : [{ counted: 'sent', messages: 7n }];
  };
  const postgres = {
    readAsTenant: async (_: string, statement: (sql: typeof tx) => unknown[]) => run(statement),
    countAsTenant: () => new Promise((resolve, reject) => scans.push({ resolve, reject })),
    asTenant: async () => undefined,
  } as unknown as Postgres;
  const warn = vi.fn<() => void>();
  const counts = new CampaignCounts({ postgres, clock, logger: { warn } });
  return { clock, scans, counted, counts, warn };
}

const settle = () => vi.advanceTimersByTimeAsync(0);

it('counts once for all reports that ask meanwhile', async () => {
  const { scans, counted, counts } = counting();
  const [stats, failures, series] = [
    counts.of(ref, former),
    counts.of(ref, former),
    counts.byTime(ref, former, 3_600),
  ];
  await settle();
  expect(scans).toHaveLength(1);
  scans[0]?.resolve([]);
  expect(await stats).toEqual({ sent: 7 });
  expect(await failures).toEqual({ sent: 7 });
  await series;
  // One that read the campaign before finds that it was counted.
  counted.add(ref.campaign_id);
  expect(await counts.of(ref, former)).toEqual({ sent: 7 });
  expect(await counts.of(ref, { ...former, is_counted: true })).toEqual({ sent: 7 });
  expect(scans).toHaveLength(1);
});

it('counts one campaign of a tenant at a time', async () => {
  const { scans, counts } = counting();
  const first = counts.of(ref, former);
  const second = counts.of({ ...ref, campaign_id: 'second' }, former);
  const other = counts.of({ ...ref, tenant_id: 'other' }, former);
  await settle();
  expect(scans).toHaveLength(2);
  scans[0]?.resolve([]);
  await first;
  await settle();
  expect(scans).toHaveLength(3);
  for (const scan of scans) scan.resolve([]);
  await Promise.all([second, other]);
});

it('refuses a report when counting takes longer than 3 s, and goes on', async () => {
  const { scans, counts } = counting();
  const late = expect(counts.of(ref, former)).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    retry_after_s: 3,
  });
  await vi.advanceTimersByTimeAsync(3_000);
  await late;
  const next = counts.of(ref, former);
  await settle();
  scans[0]?.resolve([]);
  expect(await next).toEqual({ sent: 7 });
  expect(scans).toHaveLength(1);
});

it('rests after a failure for five times as long as it took', async () => {
  const { clock, scans, counts, warn } = counting();
  const failed = expect(counts.of(ref, former)).rejects.toThrow('too slow');
  await settle();
  clock.ms += 60_000;
  scans[0]?.reject(new Error('too slow'));
  await failed;
  clock.ms += 299_999;
  await expect(counts.of(ref, former)).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    retry_after_s: 1,
  });
  expect(scans).toHaveLength(1);
  expect(warn).toHaveBeenCalledTimes(1);
  clock.ms += 1;
  const again = counts.of(ref, former);
  await settle();
  expect(scans).toHaveLength(2);
  scans[1]?.resolve([]);
  await again;
});
