import { ApiError } from '../../../errors.ts';
import { JsonText } from '../../../platform/exact-json.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { SavedRef, SavedRow } from '../saved/queries.ts';
import type { WrittenChange } from '../saved/saved.ts';
import { countLive, passOver, plan, type DueState, type DueTable } from './queries.ts';

/** What the content of such a record has. */
interface Enabled {
  /** Absent: true, as in alerts that were stored before there was the field. */
  is_enabled?: boolean;
}

const isEnabled = ({ is_enabled }: Enabled) => is_enabled !== false;

/** Rejects with CONFLICT when a project has as many records as it may have; `noun`: what they are called. */
export function requireRoom<Id extends string>(of: DueTable<Id>, noun: string, most: number) {
  return async (tx: Tx, project: ProjectRef): Promise<void> => {
    if ((await countLive(tx, of, project)) < most) return;
    throw new ApiError('CONFLICT', `the project has ${most} ${noun}s: delete one that is not used`);
  };
}

/**
 * What follows from a record that was written: it is looked at soon, also one that waits because it has failed, unless it is
 * not enabled. What was due until now is passed over when it was or is not enabled, or asks about other times.
 */
export function planWritten<Id extends string, Content extends Enabled>(
  of: DueTable<Id>,
  hasSameTimes: (before: Content, content: Content) => boolean,
) {
  return async (
    tx: Tx,
    ref: SavedRef<Id>,
    { before, content, now }: WrittenChange<Content>,
  ): Promise<void> => {
    await plan(tx, of, ref, isEnabled(content));
    if (before === null) return;
    const is_same = isEnabled(before) === isEnabled(content) && hasSameTimes(before, content);
    if (!is_same) await passOver(tx, of, ref, now);
  };
}

/** What the service has made of a record, as the API shows it. */
export function dueJson(row: SavedRow<never> & DueState): Record<string, unknown> {
  const { error_code: code, error_message: message, failed_at: at, failures } = row;
  const is_enabled = isEnabled(row.content as Enabled);
  const is_due = is_enabled && row.deleted_at === null;
  return {
    is_enabled,
    state: is_due ? (code === null ? 'waiting' : 'failing') : 'disabled',
    decided_until: row.decided_until,
    error: code === null ? null : { code, message, at, failures },
    notices: new JsonText(row.notices),
  };
}
