import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../engines/until.ts';
import { startExplainedService, type ExplainedService } from '../../platform/postgres/statement-plans.ts';

/** Of 20,000 rows a statement that reads all of them, or looks each of them up, reads far more blocks. */
const MOST_BLOCKS = 300;
const SIZE = 20_000;

let explained: ExplainedService;
let small_id: string;
beforeAll(async () => {
  explained = await startExplainedService();
  const { tenant_id, project_id, platform } = explained.service;
  const sql = platform.postgres.service;
  small_id = randomUUID();
  await sql`
    insert into projects (tenant_id, project_id, name, created_at) values (${tenant_id}, ${small_id}, 'p', now())`;
  await sql`
    with made as (
      insert into players (tenant_id, project_id, player_id, email, phone, default_currency_code, created_at, updated_at)
      select ${tenant_id}::uuid, ${project_id}::uuid, new_id(),
        'Many-' || i || '@Example.com', '0049 151 ' || i, 'EUR', now(), now()
      from generate_series(1000000, ${1_000_000 + SIZE}::integer) i
      union all
      select ${tenant_id}::uuid, ${small_id}::uuid, new_id(), 'Few@Example.com', '+356 9912', 'EUR', now(), now()
      returning tenant_id, project_id, player_id)
    insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
    select tenant_id, project_id, player_id, now(), now(), now() from made`;
});
afterAll(async () => explained?.service.close());

it.each(['without statistics', 'with statistics'])(
  '%s a search reads few rows, also in a project whose neighbour has very many alike',
  async (when) => {
    if (when === 'with statistics') await explained.analyze();
    const { base_url, session_token, project_id: large_id } = explained.service;
    for (const [project_id, q, count] of [
      [large_id, 'many-1000007@example.com', 1],
      [large_id, '+49151 1000007', 1],
      [large_id, 'MANY-', 20],
      [large_id, '+49 151', 20],
      [small_id, 'many-', 0],
      [small_id, '+49151', 0],
      [small_id, '003569912', 1],
      [small_id, 'few@', 1],
    ] as const) {
      await explained.executions();
      const headers = { authorization: `Bearer ${session_token}`, 'x-project-id': project_id };
      const path = `${base_url}/v1/players/search?q=${encodeURIComponent(q)}`;
      const answer = (await (await fetch(path, { headers })).json()) as { data: unknown[] };
      expect(answer.data, q).toHaveLength(count);
      const reads = await until('its plan is written', async () => {
        const found = (await explained.executions()).filter(({ statement }) =>
          statement.includes('matched_by'),
        );
        return found.length > 0 ? found : undefined;
      });
      expect(
        reads.filter(({ blocks }) => blocks > MOST_BLOCKS),
        `${q} ${project_id === small_id ? 'small' : 'large'}`,
      ).toEqual([]);
      expect(
        reads.flatMap(({ scans }) => scans.filter((scan) => scan.startsWith('Seq Scan players'))),
        q,
      ).toEqual([]);
    }
  },
  120_000,
);
