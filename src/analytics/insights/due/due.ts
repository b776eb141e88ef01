import { ApiError } from '../../../errors.ts';
import { JsonText } from '../../../platform/exact-json.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { countLive, type DueState, type DueTable } from './queries.ts';

/** Rejects with CONFLICT when a project has as many records as it may have; `noun`: what they are called. */
export function requireRoom<Id extends string>(of: DueTable<Id>, noun: string, most: number) {
  return async (tx: Tx, project: ProjectRef): Promise<void> => {
    if ((await countLive(tx, of, project)) < most) return;
    throw new ApiError('CONFLICT', `the project has ${most} ${noun}s: delete one that is not used`);
  };
}

/** What the service has made of a record, as the API shows it. */
export function dueJson(row: DueState, is_enabled = true): Record<string, unknown> {
  const { error_code: code, error_message: message, failed_at: at, failures } = row;
  return {
    state: is_enabled ? (code === null ? 'waiting' : 'failing') : 'disabled',
    decided_until: row.decided_until,
    error: code === null ? null : { code, message, at, failures },
    notices: new JsonText(row.notices),
  };
}
