import fastify from 'fastify';
import { newId } from '../../src/platform/ids.ts';
import { API_WRITES } from '../../src/platform/postgres/limits.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import type { Tx } from '../../src/platform/postgres/port.ts';
import { insertPlayers, selectKnown } from '../../src/players/identity/queries.ts';
import { serve } from '../child.ts';

// Routes that find the players of two ids, or find nobody and insert a player in the same transaction, with the statements
// of identify, and do nothing else.
const sql = connectPool(process.env['BENCH_POSTGRES_URL'] ?? '', { limits: API_WRITES });
const app = fastify();

interface Body {
  external_id: string;
  anonymous_id: string;
  traits: { email: string; first_name: string; country: string; level: number };
}

const find = (tx: Tx, params: unknown, { traits: { email, ...attributes }, ...ids }: Body) => {
  const patch = { columns: { email }, attributes, removed_attributes: [] };
  return selectKnown(tx, params as { tenant_id: string; project_id: string }, ids, patch, {
    currency: undefined,
    is_named: false,
  });
};

const answerOf = (player_id: string | undefined, created: boolean) => ({
  data: { player_id, created, merged_player_ids: [], conflict: false },
});

app.post('/known/:tenant_id/:project_id', async ({ params, body }) => {
  const [found] = await find(sql, params, body as Body);
  return answerOf(found?.player_id, false);
});

app.post('/new/:tenant_id/:project_id', ({ params, body }) => {
  const { traits, external_id, anonymous_id } = body as Body;
  const { email, ...attributes } = traits;
  return sql.begin(async (tx: Tx) => {
    await find(tx, params, body as Body);
    const player_id = newId();
    const now = new Date();
    const player = {
      ...(params as { tenant_id: string; project_id: string }),
      player_id,
      external_id,
      anonymous_id,
      status: 'active' as const,
      email,
      phone: null,
      telegram_id: null,
      timezone: null,
      currency: null,
      asked_currency: null,
      attributes,
      identified_at: now,
      has_dated_traits: false,
      max_bytes: 65_536,
    };
    const [made] = await insertPlayers(tx, [player], now);
    if (made?.is_made !== true) throw new Error('a player was not made');
    return answerOf(player_id, true);
  });
});

const url = await app.listen({ port: 0, host: '127.0.0.1' });
serve(Number(new URL(url).port), {}, async () => {
  await app.close();
  await sql.end({ timeout: 5 });
});
