import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { encryptSecret } from '../../src/adapters/secrets.ts';
import { insertAdapter } from '../../src/adapters/queries.ts';
import { insertSecret } from '../../src/adapters/secret-queries.ts';
import { migratePostgres } from '../../src/platform/postgres/migrate.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import type { Db } from '../../src/platform/postgres/port.ts';
import type { ProjectRef } from '../../src/tenants/project-ref.ts';
import { FakePlatformClient, startFakePlatform, type FakePlatform } from '../bonuses/fake-platform.ts';
import type { TestPostgres } from '../engines/shared-postgres.ts';
import { until } from '../engines/until.ts';
import { openTestPostgres } from '../engines/wiring.ts';

const CHILD = 'dist/test/engines/bonus-sender-child.js';
const KEY = 'ab'.repeat(32);
const SECRET = 'secret-of-the-platform-0123456789-0123456789';

/** A Postgres of its own, a platform of bonuses, and senders that a test kills. */
export class BonusHarness {
  readonly sql: Db;
  readonly fake: FakePlatformClient;
  readonly #engine: TestPostgres;
  readonly #casino: FakePlatform;

  private constructor(engine: TestPostgres, sql: Db, casino: FakePlatform) {
    this.#engine = engine;
    this.sql = sql;
    this.#casino = casino;
    this.fake = new FakePlatformClient(casino.url);
  }

  static async open(): Promise<BonusHarness> {
    const engine = await openTestPostgres({ prepared: true });
    const sql = connectPool(engine.url);
    await migratePostgres(sql);
    return new BonusHarness(engine, sql, await startFakePlatform([SECRET]));
  }

  async close(): Promise<void> {
    await this.#casino.close();
    await this.sql.end({ timeout: 5 });
    await this.#engine.close();
  }

  /** Starts a sender; resolves, once it is ready, with what kills it. */
  async startSender(): Promise<() => Promise<void>> {
    const child = spawn(process.execPath, [CHILD], {
      env: { ...process.env, SENDER_POSTGRES_URL: this.#engine.url, SENDER_CREDENTIALS_KEY: KEY },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(child, 'exit');
    const early = exited.then(([code]: unknown[]) => {
      throw new Error(`the sender ended with ${String(code)}; was it built?`);
    });
    early.catch(() => undefined);
    await Promise.race([once(child.stdout, 'data'), early]);
    return async () => {
      child.kill('SIGKILL');
      await exited;
    };
  }

  /** Claims of a sender that was killed run out; to save the wait. No sender may run. */
  async endClaims(): Promise<void> {
    await this.sql`update bonus_grants set next_attempt_at = now() where next_attempt_at is not null`;
  }

  /**
   * Waits until nothing is left to be issued, sent or published; pauses between attempts are cut short. It fails when the
   * numbers of what is left stand still, not because there is much of it.
   */
  async drained(): Promise<void> {
    const { sql } = this;
    for (let before: number[] = []; ;) {
      const left = await until('what is left changes', async (saw) => {
        await sql`
          update bonus_grants set next_attempt_at = now()
          where outcome <> 'sent' and next_attempt_at > now()`;
        const [row = {}] = await sql<Record<string, number>[]>`
          select (select count(*) from bonus_campaigns where finished_at is null)::integer as campaigns,
            (select count(*) from bonus_campaign_rows where status = 'reserved')::integer as reserved,
            (select count(*) from bonus_grants where status = 'pending')::integer as pending,
            (select count(*) from bonus_grant_events where is_to_publish)::integer as to_publish`;
        const now = Object.values(saw(row));
        return now.some((count, i) => count !== before[i]) && now;
      });
      if (left.every((count) => count === 0)) return;
      before = left;
    }
  }

  /** A tenant with an adapter and a template of EUR 10. */
  async newProject(): Promise<{ project: ProjectRef; template_id: string }> {
    const { sql } = this;
    const project = { tenant_id: randomUUID(), project_id: randomUUID() };
    const { tenant_id, project_id } = project;
    await sql`insert into tenants (tenant_id, name, base_currency) values (${tenant_id}, 'T', 'EUR')`;
    await sql`insert into projects (tenant_id, project_id, name) values (${tenant_id}, ${project_id}, 'P')`;
    await sql`insert into currencies (tenant_id, code, kind, scale, symbol, display_name, is_active)
      values (${tenant_id}, 'EUR', 'fiat', 2, '€', 'Euro', true)`;
    const template_id = randomUUID();
    await sql`
      insert into bonus_templates (tenant_id, project_id, template_id, name, type, config, wagering_requirement_multiplier,
        wagering_basis, max_bet_action, wallet_model, product, status, version, licence_warnings, created_at, updated_at)
      values (${tenant_id}, ${project_id}, ${template_id}, 'gift', 'no_deposit', '{"amount": 1000, "currency": "EUR"}', 1,
        'bonus', 'flag', 'sticky', 'casino', 'active', 1, '[]', now(), now())`;
    const adapter = { ...project, adapter_id: randomUUID() };
    const secret_id = randomUUID();
    const credentials_keys = { current: KEY, previous: undefined };
    const now = new Date();
    await insertAdapter(sql, {
      ...adapter,
      slug: 'casino',
      kind: 'http',
      base_url: this.#casino.url,
      auth_type: 'none',
      token: null,
      timeout_ms: 10_000,
      max_rps: 1_000,
      max_in_flight: 16,
      capabilities: { grant: true, cancel: true, status: true, kyc: false, completion: 'platform' },
      is_active: true,
      created_at: now,
      updated_at: now,
    });
    const secret = encryptSecret(credentials_keys, { ...adapter, secret_id }, SECRET);
    await insertSecret(sql, { ...adapter, secret_id, secret, created_at: now, expires_at: null });
    return { project, template_id };
  }
}
