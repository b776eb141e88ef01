import type { Clock } from '../platform/clock.ts';
import { newId } from '../platform/ids.ts';
import type { Db } from '../platform/postgres/port.ts';
import {
  UNSUPPORTED,
  type BonusPlatform,
  type CancelAnswer,
  type CancelOrder,
  type GrantAnswer,
  type GrantOrder,
  type KycAnswer,
  type StatusAnswer,
} from './platform.ts';
import type { Capabilities } from './protocol.ts';
import { cancelBonus, keepBonus, selectBonus, type SandboxRef } from './sandbox-queries.ts';

/** What the built-in sandbox can do. Nothing plays there, so this service's own sum of bets completes its bonuses. */
export const BUILT_IN_CAPABILITIES: Capabilities = {
  grant: true,
  cancel: true,
  status: true,
  kyc: false,
  completion: 'service',
};

/** A platform that credits at once and keeps what it was given readable; a grant that is sent again changes nothing. */
export class SandboxPlatform implements BonusPlatform {
  readonly kind = 'sandbox';
  readonly max_in_flight = 16;
  readonly max_rps = 1_000;
  readonly slug: string;
  readonly capabilities: Capabilities;
  readonly #sql: Db;
  readonly #clock: Clock;
  readonly #sandbox: SandboxRef;

  /** `sql` is the service role. */
  constructor({ sql, clock }: { sql: Db; clock: Clock }, sandbox: SandboxRef, capabilities: Capabilities) {
    this.slug = sandbox.adapter_slug;
    this.capabilities = capabilities;
    this.#sql = sql;
    this.#clock = clock;
    this.#sandbox = sandbox;
  }

  async grant({ grant_id, body, mayDepart }: GrantOrder): Promise<GrantAnswer> {
    if (!this.capabilities.grant) return UNSUPPORTED;
    if ((await mayDepart()) === undefined) return { kind: 'held' };
    const now = new Date(this.#clock.now_ms());
    const platform_bonus_id = await keepBonus(this.#sql, this.#sandbox, {
      grant_id,
      platform_bonus_id: newId(),
      body,
      now,
    });
    return { kind: 'credited', platform_bonus_id };
  }

  async cancel({ grant_id }: CancelOrder): Promise<CancelAnswer> {
    if (!this.capabilities.cancel) return UNSUPPORTED;
    const now = new Date(this.#clock.now_ms());
    const is_known = await cancelBonus(this.#sql, this.#sandbox, grant_id, now);
    return { kind: is_known ? 'cancelled' : 'missing' };
  }

  async status({ grant_id }: { grant_id: string }): Promise<StatusAnswer> {
    if (!this.capabilities.status) return { kind: 'unsupported' };
    const [row] = await selectBonus(this.#sql, this.#sandbox, grant_id);
    if (row === undefined) return { kind: 'missing' };
    const { platform_bonus_id, status, updated_at } = row;
    return { kind: 'found', bonus: { grant_id, platform_bonus_id, status, updated_at } };
  }

  kyc(): Promise<KycAnswer> {
    return Promise.resolve(
      this.capabilities.kyc ? { kind: 'accepted', provider_ref: null } : { kind: 'unsupported' },
    );
  }
}
