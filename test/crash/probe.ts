import { setTimeout as sleep } from 'node:timers/promises';

/** One answer of the ingestion API. */
export interface Probe {
  status: number;
  code: string | undefined;
  /** The request was refused because the process was busy (`installLoadShedding`), not because an engine is dead. */
  is_shed: boolean;
  retry_after: string | null;
  took_ms: number;
}

const PAUSE_MS = 100;
/** The log gives up an append after 10 s and then also refuses the appends queued behind it; twice that is too long. */
const LONGEST_ANSWER_MS = 30_000;

/** Sends a batch of `size` page views; rejects without an answer in time. */
export async function sendPageViews(ingest_url: string, api_key: string, size: number): Promise<Probe> {
  const event = { event: 'page_view', anonymous_id: 'a-browser', properties: { url: '/'.padEnd(200, 'x') } };
  const started_ms = performance.now();
  const response = await fetch(`${ingest_url}/v1/events/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(LONGEST_ANSWER_MS),
    body: JSON.stringify({ events: Array.from({ length: size }, () => event) }),
  });
  const answer = (await response.json()) as { error?: { code: string; message: string } };
  return {
    status: response.status,
    code: answer.error?.code,
    is_shed: answer.error?.message.includes('overloaded') ?? false,
    retry_after: response.headers.get('retry-after'),
    took_ms: performance.now() - started_ms,
  };
}

/** Sends again while the answer is only that the process is busy, as on a busy machine; for 30 s at most. */
export async function untilNotShed(send: () => Promise<Probe>): Promise<Probe> {
  for (const deadline_ms = Date.now() + 30_000; ; await sleep(PAUSE_MS)) {
    const probe = await send();
    if (!probe.is_shed || Date.now() > deadline_ms) return probe;
  }
}

/** The time within which half of the answers came: a pause of the machine makes some late, a wait in the code all. */
export function medianTook(probes: readonly Probe[]): number {
  const took_ms = probes.map((probe) => probe.took_ms).sort((a, b) => a - b);
  return took_ms[Math.floor(took_ms.length / 2)] ?? Infinity;
}

/** Sends repeatedly over `connections` connections until `stop`; returns all answers in order of arrival. */
export async function sendUntil(stop: AbortSignal, connections: number, send: () => Promise<Probe>) {
  const probes: Probe[] = [];
  const sender = async () => {
    while (!stop.aborted) {
      probes.push(await send());
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: connections }, sender));
  return probes;
}

/** The value of a metric of one process; undefined when the process does not have it. */
export async function readMetric(base_url: string, name: string): Promise<number | undefined> {
  const text = await (await fetch(`${base_url}/metrics`)).text();
  const line = text.split('\n').find((entry) => entry.startsWith(`${name} `) || entry.startsWith(`${name}{`));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}
