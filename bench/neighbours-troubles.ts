import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ImportState } from '../scripts/import/journal.ts';
import { packageRoot } from '../src/package-root.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import { BET_MAPPING, writeBets } from './bet-file.ts';
import { codeOf, regularly } from './neighbours-calm.ts';
import type { Answer, NeighbourClient } from './neighbours-client.ts';
import type { LockWindows } from './neighbours-figures.ts';
import { holdTable, LOCKED_TABLES, makeAllMembers } from './neighbours-queries.ts';
import { percentile } from './measure.ts';
import { insertPlayers } from './seed-queries.ts';

/** A tenth of the time: what an operator's migration or a careless session does. */
const LOCK_EVERY_MS = 20_000;
const LOCKED_MS = 2_000;
/** An operator's scheduled refreshes; each takes seconds. */
const REFRESH_EVERY_MS = 5_000;
const PREPARE_MS = 60_000;
const CAMPAIGN_MEMBERS = 1_000;

/** Something that goes on beside the calm tenant. */
export interface Trouble {
  name: string;
  /** Makes what it needs. */
  prepare(): Promise<void>;
  /** Goes on until `stop`; returns what it did. */
  run(stop: AbortSignal): Promise<string>;
}

/** A pause that ends at once with `stop`. */
const pause = (ms: number, stop: AbortSignal) =>
  sleep(ms, undefined, { signal: stop }).catch(() => undefined);

/** How often each answer came. */
class Outcomes {
  readonly #times = new Map<string, number>();

  add(answer: Answer): void {
    const kind = answer.status < 300 ? 'done' : codeOf(answer);
    this.#times.set(kind, (this.#times.get(kind) ?? 0) + 1);
  }

  toString(): string {
    return [...this.#times].map(([kind, times]) => `${times} ${kind}`).join(', ') || 'nothing';
  }
}

/** A segment whose members are computed again and again; each time a fifth of all players enter or leave. */
export function slowRefresh(client: NeighbourClient, sql: Db, players: number): Trouble {
  let segment_id = '';
  const definitionOf = (percent: number) => ({
    operator: 'AND',
    conditions: [{ type: 'random', percent, salt: 'a' }],
  });
  return {
    name: 'slow refresh',
    async prepare() {
      await insertPlayers(sql, client.tenant, players);
      await sql`analyze players, player_totals`;
      const until_ms = performance.now() + PREPARE_MS;
      const everybody = { operator: 'AND', conditions: [{ type: 'random', percent: 100, salt: 'x' }] };
      let copied = 0;
      while (copied < players && performance.now() < until_ms) {
        const body = { definition: everybody };
        copied = Number((await client.must('POST', '/v1/segments/preview', 200, body))['estimated_size']);
        await sleep(500);
      }
      players = copied;
      const definition = definitionOf(40);
      const body = { name: 'half', definition, refresh_strategy: 'manual' };
      segment_id = await client.create('/v1/segments', body);
    },
    async run(stop) {
      const outcomes = new Outcomes();
      const took_ms: number[] = [];
      let changed = 0;
      for (let i = 0; !stop.aborted; i++) {
        const definition = definitionOf(i % 2 === 0 ? 60 : 40);
        outcomes.add(await client.api('PATCH', `/v1/segments/${segment_id}`, { definition }));
        const answer = await client.api('POST', `/v1/segments/${segment_id}/refresh`);
        outcomes.add(answer);
        await pause(Math.max(REFRESH_EVERY_MS - answer.ms, 0), stop);
        if (answer.status === 200) {
          took_ms.push(answer.ms);
          changed += Number(answer.body.data?.['added']) + Number(answer.body.data?.['removed']);
        }
      }
      const median_s = (percentile(took_ms, 0.5) / 1_000).toFixed(1);
      return `${took_ms.length} refreshes of ${players} players, ${changed} changes, median ${median_s} s (${outcomes.toString()})`;
    },
  };
}

/** A session that locks a table for two of every twenty seconds; each table in its turn. */
export function lockedTable(sql: Db, windows: LockWindows): Trouble {
  return {
    name: 'locked table',
    prepare: () => Promise.resolve(),
    async run(stop) {
      for (let i = 0; !stop.aborted; i++) {
        await pause(LOCK_EVERY_MS - LOCKED_MS, stop);
        if (stop.aborted) break;
        const table = LOCKED_TABLES[i % LOCKED_TABLES.length] ?? LOCKED_TABLES[0];
        await windows.around(() => holdTable(sql, table, LOCKED_MS));
      }
      return `${windows.count} locks of ${LOCKED_MS} ms, ${LOCKED_TABLES.join(', ')} in turn`;
    },
  };
}

/** A busy project with ten realtime segments, of which one is too expensive to be asked about. */
export function failingSegment(client: NeighbourClient): Trouble {
  // Each quotation mark is escaped twice on its way to ClickHouse: the list is longer than a parameter may be.
  const long = Array.from({ length: 55 }, (_, i) => `${"'".repeat(1_000)}${i}`);
  return {
    name: 'failing segment',
    async prepare() {
      const bad = { type: 'trait', field: 'email', op: 'in', value: long };
      const good = (value: number) => ({
        type: 'event',
        event: 'bet_placed',
        aggregate: 'count',
        op: 'gte',
        value,
      });
      for (const condition of [bad, ...Array.from({ length: 9 }, (_, i) => good(i + 1))]) {
        const definition = { operator: 'AND', conditions: [condition] };
        await client.create('/v1/segments', { name: 'realtime', definition, refresh_strategy: 'realtime' });
      }
    },
    async run(stop) {
      const outcomes = new Outcomes();
      await regularly(20, stop, async (i) => {
        const bet = {
          amount: 100,
          currency: 'EUR',
          bet_id: `failing-${i}`,
          game_id: 'game',
          game_category: 'slots',
        };
        outcomes.add(
          await client.event({ event: 'bet_placed', anonymous_id: `failing-${i % 500}`, properties: bet }),
        );
      });
      return `events ${outcomes.toString()}`;
    },
  };
}

/** An operator who previews the most expensive template as fast as its rate allows, and campaigns that render it. */
export function hostileTemplate(client: NeighbourClient, sql: Db): Trouble {
  const bodyOf = (times: number) =>
    `{% for i in (1..${times}) %}{{ i | date: "%Y-%m-%d" | append: first_name | upcase }}{% endfor %}`;
  const campaign = { template_id: '', segment_id: '', provider_id: '' };
  return {
    name: 'hostile template',
    async prepare() {
      const fields = { name: 'hostile', channel: 'email', status: 'active', subject: 'S' };
      campaign.template_id = await client.create('/v1/templates', { ...fields, body: 'x' });
      let allowed = 1;
      // The largest loop that is still within the limit of work.
      for (let step = 1 << 16; step >= 16; step >>= 1) {
        await client.must('PATCH', `/v1/templates/${campaign.template_id}`, 200, {
          body: bodyOf(allowed + step),
        });
        const { status } = await client.api('POST', `/v1/templates/${campaign.template_id}/preview`, {});
        if (status === 200) allowed += step;
      }
      await client.must('PATCH', `/v1/templates/${campaign.template_id}`, 200, { body: bodyOf(allowed) });
      const provider = { name: 'hostile', kind: 'sandbox', channel: 'email', config: {} };
      campaign.provider_id = await client.create('/v1/messaging-providers', provider);
      await insertPlayers(sql, client.tenant, CAMPAIGN_MEMBERS);
      await sql`update players set email = player_id || '@example.com' where tenant_id = ${client.tenant.tenant_id}`;
      const definition = { operator: 'AND', conditions: [{ type: 'random', percent: 0, salt: 'x' }] };
      const segment = { name: 'all', definition, refresh_strategy: 'manual' };
      campaign.segment_id = await client.create('/v1/segments', segment);
      await makeAllMembers(sql, client.tenant, campaign.segment_id);
    },
    async run(stop) {
      const previews = new Outcomes();
      const took_ms: number[] = [];
      const preview = async () => {
        while (!stop.aborted) {
          const answer = await client.api('POST', `/v1/templates/${campaign.template_id}/preview`, {});
          previews.add(answer);
          took_ms.push(answer.ms);
          if (answer.status !== 200) await pause(answer.retry_after_s * 1_000, stop);
        }
      };
      const sending = sendAgainAndAgain(client, campaign, stop);
      await Promise.all([preview(), preview()]);
      return `previews ${previews.toString()} (median ${percentile(took_ms, 0.5).toFixed(0)} ms); ${await sending}`;
    },
  };
}

/** A new campaign whenever the one before has been sent. */
async function sendAgainAndAgain(
  client: NeighbourClient,
  plan: { template_id: string; segment_id: string; provider_id: string },
  stop: AbortSignal,
): Promise<string> {
  let begun = 0;
  let sent = 0;
  while (!stop.aborted) {
    const body = { name: 'hostile', type: 'broadcast', channel: 'email', ...plan };
    const created = await client.api('POST', '/v1/campaigns', body);
    const path = `/v1/campaigns/${String(created.body.data?.['id'])}`;
    const started = created.status === 201 ? await client.api('POST', `${path}/send`) : created;
    if (started.status !== 200) {
      await pause(1_000, stop);
      continue;
    }
    begun += 1;
    let is_over = false;
    while (!is_over && !stop.aborted) {
      await pause(1_000, stop);
      const { body } = await client.api('GET', `${path}/stats`);
      const counters = (body.data?.['counters'] ?? {}) as Record<string, number>;
      is_over = body.data?.['status'] === 'sent';
      if (is_over || stop.aborted) sent += counters['sent'] ?? 0;
    }
  }
  return `${begun} campaigns begun, ${sent} messages sent`;
}

/** A tenant that imports a year of history with `npm run import`, at so many events a second at most. */
export function importingTenant(client: NeighbourClient, per_second: number, seconds: number): Trouble {
  let dir = '';
  let file = '';
  return {
    name: 'importing tenant',
    async prepare() {
      dir = await mkdtemp(join(tmpdir(), 'engagement-neighbours-'));
      file = join(dir, 'bets.csv');
      await writeFile(join(dir, 'mapping.json'), JSON.stringify(BET_MAPPING));
      await writeBets(file, per_second * seconds, { players: 20_000 });
    },
    async run(stop) {
      const command = join(packageRoot, 'dist', 'scripts', 'import.js');
      const flags = ['--mapping', join(dir, 'mapping.json'), '--per-second', String(per_second)];
      const child = spawn(process.execPath, [command, file, ...flags, '--ingest-url', client.ingest_url], {
        env: { ...process.env, IMPORT_API_KEY: client.tenant.api_key, DATA_DIR: dir },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      const started_ms = performance.now();
      const end = () => child.kill('SIGTERM');
      stop.addEventListener('abort', end, { once: true });
      const [complaints] = await Promise.all([text(child.stderr), once(child, 'exit')]);
      stop.removeEventListener('abort', end);
      const { counts } = JSON.parse(await readFile(`${file}.import.json`, 'utf8')) as ImportState;
      await rm(dir, { recursive: true });
      const rate = ((counts.events / (performance.now() - started_ms)) * 1_000).toFixed(0);
      return `${counts.events} events, ${rate} a second, ${counts.refused} refused; ${complaints.trim() || 'nothing else'}`;
    },
  };
}
