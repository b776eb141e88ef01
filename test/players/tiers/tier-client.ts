import { RETIER_TASK, runSweepJob, type SweepSummary } from '../../../src/players/tiers/jobs.ts';
import { call, type Answer } from '../../engines/http-client.ts';
import { type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { Operator, type Fields } from '../identity/operator.ts';

export const DAY_MS = 86_400_000;

/** One entry of a player's history. */
export interface Entry {
  from_code: string | null;
  to_code: string | null;
  trigger: string;
  context: Fields;
  occurred_at: string;
}

/** An operator with VIP tiers: every call goes over HTTP. */
export class TierClient extends Operator {
  static override async open(service: TestService): Promise<TierClient> {
    return new TierClient(service, await service.newTenant());
  }

  /** Calls the admin API, by default as the owner. */
  api(method: string, path: string, body?: object, token = this.tenant.session_token): Promise<Answer> {
    const headers = { 'x-project-id': this.tenant.project_id };
    return call(this.service.base_url + path, token, { method, body, headers });
  }

  internal(path: string, body: object): Promise<Answer> {
    return call(this.service.base_url + path, undefined, {
      headers: { 'x-internal-secret': this.service.internal_secret },
      body,
    });
  }

  /** Makes a tier that requires these stakes; returns its id. */
  async tier(code: string, rank: number, wagered: number, others: object = {}): Promise<string> {
    const requirements = { lifetime_wagered_subunit: wagered };
    const body = { code, name: code, rank, requirements, ...others };
    const { status, data, error } = await this.api('POST', '/v1/vip-tiers', body);
    if (status !== 201) throw new Error(JSON.stringify(error));
    return String(data['id']);
  }

  /** The tier of a player as the API shows it. */
  async tierOf(player_id: string): Promise<Fields & { history: Entry[] }> {
    const { status, data } = await this.api('GET', `/v1/players/${player_id}/tier`);
    if (status !== 200) throw new Error(`the tier of ${player_id}: ${status}`);
    return data as Fields & { history: Entry[] };
  }

  /** Resolves when the player has this tier. */
  async reaches(player_id: string, code: string | null): Promise<Fields & { history: Entry[] }> {
    return until(`the tier ${code}`, async (saw) => {
      const tier = saw(await this.tierOf(player_id));
      return tier['current_tier_code'] === code ? tier : undefined;
    });
  }

  /** Computes the tier of a player by the rules, and rejects when it is another one. */
  async computes(player_id: string, code: string): Promise<void> {
    const { data } = await this.set(player_id, {});
    if (data['to_code'] !== code) throw new Error(`expected the tier ${code}: ${JSON.stringify(data)}`);
  }

  /**
   * Resolves when no player waits for a computation, and no look at all players is under way or waits. The second look
   * at them, which comes long after a change of the tiers, does not count. Needs a service with the role scheduler.
   */
  async settled(): Promise<void> {
    const { service: sql } = this.service.platform.postgres;
    const { tenant_id } = this.tenant;
    await until('no tier is to be computed', async (saw) => {
      const looks = saw(
        await sql.begin(async (tx) => {
          await tx`set local role none`;
          return tx`
          select from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
          where t.identifier = ${RETIER_TASK} and j.payload ->> 'tenant_id' = ${tenant_id}
            and j.payload ->> 'is_again' = 'false'`;
        }),
      );
      const waiting = saw(await sql`select from tier_requests where tenant_id = ${tenant_id}`);
      return looks.length === 0 && waiting.length === 0;
    });
  }

  set(player_id: string, body: object): Promise<Answer> {
    return this.api('POST', `/v1/players/${player_id}/tier`, body);
  }

  /** Runs the daily sweep as it would run after so many days. */
  sweep(days: number): Promise<SweepSummary> {
    const { platform } = this.service;
    const clock = { ...platform.clock, now_ms: () => Date.now() + days * DAY_MS };
    return runSweepJob({ ...platform, clock }, new AbortController().signal);
  }
}
