import fastify from 'fastify';
import { API_WRITES } from '../../src/platform/postgres/limits.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import type { Tx } from '../../src/platform/postgres/port.ts';
import { insertNewcomer, selectNamed, type Project } from '../identify-queries.ts';
import { serve } from '../child.ts';

// Routes that find the players of two ids, or find nobody and insert a player in the same transaction, with the statements
// of identify, and do nothing else.
const sql = connectPool(process.env['BENCH_POSTGRES_URL'] ?? '', { limits: API_WRITES });
const app = fastify();

interface Body {
  external_id: string;
  anonymous_id: string;
  traits: { email: string };
}

const answered = (player_id: string | undefined, created: boolean) => ({
  data: { player_id, created, merged_player_ids: [], conflict: false },
});

app.post('/known/:tenant/:project', async (request) => {
  const [found] = await selectNamed(sql, request.params as Project, request.body as Body);
  return answered(found?.player_id, false);
});

app.post('/new/:tenant/:project', (request) => {
  const { traits, ...ids } = request.body as Body;
  return sql.begin(async (tx: Tx) => {
    const [found] = await selectNamed(tx, request.params as Project, ids);
    const [made] =
      found === undefined ? await insertNewcomer(tx, request.params as Project, { ...ids, traits }) : [];
    return answered(made?.player_id, true);
  });
});

const url = await app.listen({ port: 0, host: '127.0.0.1' });
serve(Number(new URL(url).port), {}, async () => {
  await app.close();
  await sql.end({ timeout: 5 });
});
