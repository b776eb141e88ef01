import { BoundedCache } from '../platform/bounded-cache.ts';
import { ApiError } from '../errors.ts';
import { StaleIfErrorCache } from '../platform/stale-if-error-cache.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { EncryptionKeys } from '../platform/encryption.ts';
import type { Notifications } from '../platform/postgres/notifications.ts';
import type { Db, Postgres } from '../platform/postgres/port.ts';
import { withinTime } from '../platform/time-limit.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { Gate } from './gate.ts';
import { HttpPlatform, type CallDeps } from './http-platform.ts';
import { SANDBOX_SLUG, type BonusPlatform } from './platform.ts';
import {
  ADAPTERS_CHANNEL,
  countAdapters,
  selectActiveAdapter,
  selectAdapterBySlug,
  type AdapterRow,
} from './queries.ts';
import { BUILT_IN_CAPABILITIES, SandboxPlatform } from './sandbox.ts';
import { selectSecrets } from './secret-queries.ts';
import { readableSecrets, readSecret } from './secrets.ts';

/** The dependencies of calling platforms. */
export interface PlatformsDeps extends CallDeps {
  postgres: Postgres;
  logger: Logger;
  metrics: Metrics;
  credentials_keys: EncryptionKeys;
}

/** How long an adapter is used without looking at it again; a notification of a change ends that. */
const FRESH_MS = 10_000;
const MAX_PLATFORMS = 10_000;
const LOAD_LIMIT_MS = 5_000;
/** Statements that read adapters at once. */
const STATEMENTS = 2;

/** 503 ADAPTER_UNAVAILABLE for a project that has adapters of which none is active. */
export function noActiveAdapter(): ApiError {
  return new ApiError('ADAPTER_UNAVAILABLE', 'the project has adapters, but none is active: activate one');
}

/** The platforms that projects' bonuses are issued through; one per process, because it holds the limits of calls. */
export class Platforms {
  readonly #deps: PlatformsDeps;
  readonly #sql: Db;
  readonly #active: StaleIfErrorCache<{ platform: BonusPlatform | null }>;
  readonly #named: StaleIfErrorCache<{ platform: BonusPlatform }>;
  readonly #gates = new BoundedCache<string, Gate>({ max: MAX_PLATFORMS });
  /** The keys of the caches by tenant, as far as they may be in use. */
  readonly #keys = new BoundedCache<string, Set<string>>({ max: MAX_PLATFORMS });

  constructor(deps: PlatformsDeps) {
    this.#deps = deps;
    this.#sql = deps.postgres.lookups.share(STATEMENTS);
    const { clock, logger, metrics } = deps;
    const options = { max: MAX_PLATFORMS, fresh_ms: FRESH_MS, clock, logger };
    const onStale = () => metrics.staleAnswers.inc({ cache: 'adapters' });
    this.#active = new StaleIfErrorCache({
      ...options,
      name: 'adapters',
      onStale,
      load: (key) => this.#within(this.#loadActive(projectOf(key))),
    });
    this.#named = new StaleIfErrorCache({
      ...options,
      name: 'adapters',
      onStale,
      load: (key) => this.#within(this.#loadNamed(projectOf(key), slugOf(key))),
    });
  }

  /** Follows changes of adapters by other processes. */
  async follow(notifications: Notifications): Promise<void> {
    await notifications.on(
      ADAPTERS_CHANNEL,
      (tenant_id) => this.evict(tenant_id),
      () => {
        this.#active.expireAll();
        this.#named.expireAll();
      },
    );
  }

  /** Looks at the tenant's adapters again at their next use. */
  evict(tenant_id: string): void {
    for (const key of this.#keys.get(tenant_id) ?? []) {
      this.#active.expire(key);
      this.#named.expire(key);
    }
    this.#keys.delete(tenant_id);
  }

  /**
   * The platform of the project's active adapter; the built-in sandbox when the project has no adapter at all. Rejects
   * with ADAPTER_UNAVAILABLE when it has adapters and none is active: nothing may be credited in the sandbox by
   * accident. Rejects too when Postgres does not answer, or no key decrypts the secrets.
   */
  async of(project: ProjectRef): Promise<BonusPlatform> {
    const key = this.#remember(project, '');
    const found = await this.#active.get(key);
    if (found?.platform === undefined || found.platform === null) {
      throw noActiveAdapter();
    }
    return found.platform;
  }

  /** The platform of a grant that exists, by the slug of its adapter, active or not; undefined when the project has none. */
  async bySlug(project: ProjectRef, slug: string): Promise<BonusPlatform | undefined> {
    if (slug === SANDBOX_SLUG) return this.#builtIn(project);
    return (await this.#named.get(this.#remember(project, slug)))?.platform;
  }

  #remember({ tenant_id, project_id }: ProjectRef, slug: string): string {
    const key = `${tenant_id} ${project_id} ${slug}`;
    const keys = this.#keys.get(tenant_id);
    if (keys === undefined) this.#keys.set(tenant_id, new Set([key]));
    else keys.add(key);
    return key;
  }

  #within<T>(loading: Promise<T>): Promise<T> {
    return withinTime(
      LOAD_LIMIT_MS,
      loading,
      () => new Error(`Postgres did not read the adapters of a project within ${LOAD_LIMIT_MS} ms`),
    );
  }

  async #loadActive(project: ProjectRef): Promise<{ platform: BonusPlatform | null }> {
    const [row] = await selectActiveAdapter(this.#sql, project);
    if (row !== undefined) return { platform: await this.#platformOf(row) };
    const has_others = (await countAdapters(this.#sql, project, 1)) > 0;
    return { platform: has_others ? null : this.#builtIn(project) };
  }

  async #loadNamed(project: ProjectRef, slug: string): Promise<{ platform: BonusPlatform } | undefined> {
    const [row] = await selectAdapterBySlug(this.#sql, slug);
    // A slug of another tenant or project does not count here.
    if (row?.tenant_id !== project.tenant_id || row.project_id !== project.project_id) return undefined;
    return { platform: await this.#platformOf(row) };
  }

  #builtIn({ tenant_id, project_id }: ProjectRef): BonusPlatform {
    const sandbox = { tenant_id, project_id, adapter_slug: SANDBOX_SLUG };
    return new SandboxPlatform(this.#sandboxDeps, sandbox, BUILT_IN_CAPABILITIES);
  }

  get #sandboxDeps() {
    return { sql: this.#deps.postgres.service, clock: this.#deps.clock };
  }

  async #platformOf(row: AdapterRow): Promise<BonusPlatform> {
    const { tenant_id, project_id, slug, base_url, token, capabilities, max_rps, max_in_flight } = row;
    if (base_url === null)
      return new SandboxPlatform(
        this.#sandboxDeps,
        { tenant_id, project_id, adapter_slug: slug },
        capabilities,
      );
    const { credentials_keys, clock } = this.#deps;
    const rows = await selectSecrets(this.#sql, row, new Date(clock.now_ms()));
    const [current, ...older] = rows;
    if (current === undefined) throw new Error(`the adapter ${slug} has no secret`);
    const secrets = [
      readSecret(credentials_keys, current, current.secret),
      ...readableSecrets(credentials_keys, older),
    ];
    const gate = this.#gates.get(row.adapter_id) ?? new Gate({ max_rps, max_in_flight });
    gate.limits = { max_rps, max_in_flight };
    this.#gates.set(row.adapter_id, gate);
    const shown = token === null ? undefined : readSecret(credentials_keys, row, token);
    return new HttpPlatform(this.#deps, { ...row, base_url, secrets, token: shown }, gate);
  }
}

function projectOf(key: string): ProjectRef {
  const [tenant_id = '', project_id = ''] = key.split(' ', 2);
  return { tenant_id, project_id };
}

function slugOf(key: string): string {
  return key.split(' ')[2] ?? '';
}

/** Opens the platforms of this process. */
export async function openPlatforms(deps: PlatformsDeps, notifications: Notifications): Promise<Platforms> {
  const platforms = new Platforms(deps);
  await platforms.follow(notifications);
  return platforms;
}
