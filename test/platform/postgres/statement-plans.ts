import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../../src/config.ts';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import { openEmbeddedPlatform } from '../../../src/app/wiring/embedded.ts';
import { startEmbeddedPostgres } from '../../../src/platform/postgres/embedded-server.ts';
import { copyPreparedPostgres } from '../../engines/shared-postgres.ts';
import { startTestService, type TestService } from '../../engines/service.ts';

/** Postgres writes the plan of every statement, with what it read, to its log; statistics come only by our `analyze`. */
const EXPLAIN_EVERYTHING = `
session_preload_libraries = 'auto_explain'
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
auto_explain.log_buffers = on
auto_explain.log_timing = off
auto_explain.log_format = json
auto_explain.log_parameter_max_length = 0
autovacuum = off
fsync = off
`;

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

/** What one execution of a statement read. */
export interface Execution {
  statement: string;
  /** Blocks of 8 KiB, also those that were cached, and a block each time that it was read. */
  blocks: number;
  /** Table by index, or table alone when it was scanned. */
  scans: string[];
  /** The process of Postgres that ran it: one per connection. */
  pid: number;
}

/** A service whose Postgres tells the plans of its statements. */
export interface ExplainedService {
  service: TestService;
  /** The executions since the last call, of statements that read a table of ours. */
  executions(): Promise<Execution[]>;
  /**
   * What `work` reads in its transaction, which is of the service role and rolled back; not what the service reads beside
   * it. Rejects with the error of `work`, and when nothing was read.
   */
  readsOf(work: (tx: Tx) => Promise<unknown>): Promise<Execution[]>;
  /**
   * Gives the planner statistics of these tables; none: of all. As the owner: Postgres only warns the service role that it
   * may not.
   */
  analyze(...tables: string[]): Promise<void>;
}

/** Starts a service on an empty Postgres of its own without statistics. */
export async function startExplainedService(overrides: Partial<Config> = {}): Promise<ExplainedService> {
  let log = '';
  const service = await startTestService(overrides, (config) =>
    openEmbeddedPlatform(config, undefined, async ({ dir }) => {
      await copyPreparedPostgres(dir);
      await appendFile(join(dir, 'cluster', 'postgresql.auto.conf'), EXPLAIN_EVERYTHING);
      log = join(dir, 'cluster', 'server.log');
      return startEmbeddedPostgres({ dir });
    }),
  );
  const sql = service.platform.postgres.service;
  const executions = logReader(() => log);
  return {
    service,
    executions,
    async readsOf(work) {
      const undo = new Error('undo');
      let found: Execution[] = [];
      await sql
        .begin(async (tx) => {
          const [own] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
          await executions();
          await work(tx);
          // A plan is written when its statement's portal is closed: by the next statement, here this one.
          await tx`select 1`;
          found = (await executions()).filter(({ pid }) => pid === own?.pid);
          throw undo;
        })
        .catch((error: unknown) => {
          if (error !== undo) throw error;
        });
      if (found.length === 0) throw new Error('the work has read no table');
      return found;
    },
    async analyze(...tables) {
      await sql.begin((tx) => tx.unsafe(`set local role none; analyze ${tables.join(', ')}`));
    },
  };
}

/** Reads the plans that were written since its last call. */
function logReader(path: () => string): () => Promise<Execution[]> {
  let read = 0;
  return async () => {
    const text = (await readFile(path())).subarray(read).toString('utf8');
    read += Buffer.byteLength(text);
    // The prefix of a line that Postgres has by default ends with the process: "… [123] LOG:  duration: … plan:".
    return [...text.matchAll(/\[(\d+)\] LOG: [^\n]*plan:\n(\t\{[\s\S]*?\n\t\})/g)]
      .map(([, pid, plan = '']) => ({
        pid: Number(pid),
        explained: JSON.parse(plan) as { 'Query Text': string; Plan: PlanNode },
      }))
      .map(({ pid, explained }) => ({
        pid,
        statement: explained['Query Text'].replaceAll(/\s+/g, ' ').trim(),
        blocks: explained.Plan['Shared Hit Blocks'] + explained.Plan['Shared Read Blocks'],
        scans: scansOf(explained.Plan),
      }))
      .filter(({ scans }) => scans.length > 0);
  };
}

function scansOf(node: PlanNode): string[] {
  const own = node['Relation Name'] ?? node['Index Name'];
  const scan = own === undefined ? [] : [`${node['Node Type']} ${own} ${node['Index Name'] ?? ''}`.trim()];
  return [...scan, ...(node.Plans ?? []).flatMap(scansOf)];
}
