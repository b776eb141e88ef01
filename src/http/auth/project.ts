import { BoundedCache } from '../../platform/bounded-cache.ts';
import { ApiError, validationError } from '../../errors.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Db } from '../../platform/postgres/port.ts';
import type { Maybe } from './maybe.ts';
import { findOldestProject, projectExists } from './queries.ts';

const MAX_CACHED = 50_000;

/** Finds the project of an admin call. Projects are never deleted, so cached results stay valid. */
export class ProjectResolver {
  #sql: Db;
  /** `<tenant_id>/<project_id>` → project_id; `<tenant_id>` → its oldest project. */
  #known = new BoundedCache<string, string>({ max: MAX_CACHED });

  /** `sql` is the service role. */
  constructor(sql: Db) {
    this.#sql = sql;
  }

  /**
   * Returns the project that the X-Project-Id header names, else the tenant's oldest, without a promise when cached.
   * Throws or rejects with VALIDATION_ERROR (not a UUID) or PROJECT_NOT_FOUND (not of this tenant).
   */
  resolve(tenant_id: string, header: string | undefined): Maybe<string> {
    if (header === undefined) return this.#known.get(tenant_id) ?? this.#findOldest(tenant_id);
    if (!isUuid(header)) throw validationError([{ path: 'X-Project-Id', message: 'must be a UUID' }]);
    return this.ofTenant(tenant_id, header);
  }

  /** Returns `project_id` in lower case if it belongs to the tenant; else rejects with PROJECT_NOT_FOUND. */
  ofTenant(tenant_id: string, project_id: string): Maybe<string> {
    const canonical = project_id.toLowerCase();
    return this.#known.get(`${tenant_id}/${canonical}`) ?? this.#find(tenant_id, canonical);
  }

  async #find(tenant_id: string, project_id: string): Promise<string> {
    if (!isUuid(project_id) || !(await projectExists(this.#sql, tenant_id, project_id))) {
      throw new ApiError('PROJECT_NOT_FOUND', `project ${project_id.slice(0, 64)} does not exist`);
    }
    this.#known.set(`${tenant_id}/${project_id}`, project_id);
    return project_id;
  }

  async #findOldest(tenant_id: string): Promise<string> {
    const project_id = await findOldestProject(this.#sql, tenant_id);
    if (project_id === undefined) throw new ApiError('PROJECT_NOT_FOUND', 'the tenant has no project');
    this.#known.set(tenant_id, project_id);
    return project_id;
  }
}
