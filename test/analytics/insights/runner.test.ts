import { describe, expect, it } from 'vitest';
import type { Statement } from '../../../src/analytics/insights/kind.ts';
import { InsightRunner } from '../../../src/analytics/insights/runner.ts';
import { createMemoryRateLimiter } from '../../../src/platform/rate-limit/memory.ts';
import type { RateVerdict } from '../../../src/platform/rate-limit/port.ts';

const PROJECT = { tenant_id: 't', project_id: 'p' };
const STATEMENT: Statement = { sql: 'select 1', params: { p0: 'x' } };
const clock = { now_ms: () => 1_000_000 };

/** ClickHouse that answers with `rows` of an estimate, and a statement when it is let go. */
function engineOf(rows: number) {
  const asked: { sql: string; params: Record<string, unknown> }[] = [];
  let running = 0;
  let most = 0;
  const waiting: (() => void)[] = [];
  const query = async <Row>(sql: string, params: Record<string, unknown> = {}): Promise<Row[]> => {
    asked.push({ sql, params });
    if (sql.startsWith('explain')) return [{ rows: String(rows) }] as Row[];
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => waiting.push(resolve));
    running--;
    return [{ one: 1 }] as Row[];
  };
  const letGo = () => waiting.splice(0).forEach((go) => go());
  return { query, asked, letGo, most: () => most };
}

const runnerOf = (max_questions: number, rateLimiter = createMemoryRateLimiter({ clock })) =>
  new InsightRunner({ clock, rateLimiter, clickhouse: { max_questions } });
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the statements of insights', () => {
  it('have limits, and the parameters of the project and the moment', async () => {
    const engine = engineOf(5);
    const run = runnerOf(2).run(engine, PROJECT, [STATEMENT]);
    await turn();
    engine.letGo();
    expect(await run).toEqual([[{ one: 1 }]]);
    const [estimate, statement] = engine.asked;
    const limits = 'settings max_execution_time = 10, .*max_rows_to_read = 60000000, readonly = 1$';
    expect(estimate?.sql).toMatch(new RegExp(`^explain estimate select 1\n${limits}`));
    expect(statement?.sql).toMatch(new RegExp(`^select 1\n${limits}`));
    expect(statement?.params).toEqual({ ...PROJECT, p0: 'x', now_ms: 1_000_000 });
  });

  it('are refused when they would read too many rows together, and when ClickHouse stops them', async () => {
    const dear = runnerOf(2).run(engineOf(30_000_001), PROJECT, [STATEMENT, STATEMENT]);
    await expect(dear).rejects.toMatchObject({
      code: 'INSIGHT_TOO_EXPENSIVE',
      details: { rows: 60_000_002, limit: 60_000_000, hint: expect.any(String) },
    });
    const stopped = Object.assign(new Error('timeout'), { code: '159' });
    const query = () => Promise.reject(stopped);
    await expect(runnerOf(2).run({ query }, PROJECT, [STATEMENT])).rejects.toMatchObject({
      code: 'INSIGHT_TOO_EXPENSIVE',
      details: { rows: null },
    });
    const gone = Object.assign(new Error('gone'), { code: '210' });
    await expect(runnerOf(2).run({ query: () => Promise.reject(gone) }, PROJECT, [STATEMENT])).rejects.toBe(
      gone,
    );
  });

  it('run one of a project at a time, and of all half of what ClickHouse takes', async () => {
    const engine = engineOf(1);
    const runner = runnerOf(4);
    const projects = ['a', 'a', 'b', 'c', 'd'];
    const runs = projects.map((project_id) =>
      runner.run(engine, { tenant_id: 't', project_id }, [STATEMENT]),
    );
    for (let n = 0; n < 20; n++) {
      await turn();
      engine.letGo();
    }
    await Promise.all(runs);
    expect(engine.most()).toBe(2);
  });

  it('of a tenant with many projects do not hold up those of another, and its projects take turns', async () => {
    const engine = engineOf(1);
    const runner = runnerOf(2);
    const ended: string[] = [];
    const ask = (tenant_id: string, project_id: string) =>
      runner
        .run(engine, { tenant_id, project_id }, [STATEMENT])
        .then(() => ended.push(`${tenant_id}${project_id}`));
    const runs = ['1', '1', '1', '2', '3', '4'].map((project) => ask('a', project));
    runs.push(ask('b', '1'), ask('b', '1'), ask('c', '1'));
    for (let n = 0; n < 40; n++) {
      await turn();
      engine.letGo();
    }
    await Promise.all(runs);
    expect(ended).toEqual(['a1', 'a1', 'b1', 'c1', 'a2', 'b1', 'a3', 'a4', 'a1']);
  });

  it('of one tenant that wait are not all that may wait', async () => {
    const engine = engineOf(1);
    const runner = runnerOf(2);
    const ask = (tenant_id: string, project_id: string) =>
      runner.run(engine, { tenant_id, project_id }, [STATEMENT]);
    const runs = Array.from({ length: 60 }, (_, n) => ask('a', String(n)).catch((error: Error) => error));
    runs.push(ask('b', '1'));
    for (let n = 0; n < 120; n++) {
      await turn();
      engine.letGo();
    }
    const answers = await Promise.all(runs);
    expect(answers.filter((answer) => answer instanceof Error)).toHaveLength(19);
    expect(answers.at(-1)).toEqual([[{ one: 1 }]]);
  });

  it('of a tenant are refused with Retry-After when its seconds are used', async () => {
    const taken: number[] = [];
    let left = 20;
    const take = (_policy: unknown, _key: string, count = 1): RateVerdict => {
      const allowed = count <= left;
      if (allowed) left -= count;
      taken.push(count);
      return { allowed, remaining: left, retry_after_ms: allowed ? 0 : 4_200, reset_ms: 0 };
    };
    const limiter = { ...createMemoryRateLimiter({ clock }), take };
    const runner = runnerOf(2, limiter);
    left = 0;
    await expect(runner.run(engineOf(1), PROJECT, [STATEMENT])).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      retry_after_s: 5,
    });
    expect(taken).toEqual([1]);
  });
});
