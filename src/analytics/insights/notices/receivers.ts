import { isDeepStrictEqual } from 'node:util';
import { validationError } from '../../../errors.ts';
import { isAddress } from '../../../engage/messaging/transports/email.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { selectMembers } from './queries.ts';
import type { Receiver } from './schema.ts';

/**
 * Rejects with VALIDATION_ERROR unless each receiver by email is a member with a plain address, webhooks may go to each URL, and
 * no receiver is there twice. Receivers that stay as they were, `before`, are not judged again: one who has left does not keep
 * an alert from being switched off.
 */
export async function requireReceivers(
  tx: Tx,
  egress: Pick<Egress, 'problemOf'>,
  tenant_id: string,
  receivers: readonly Receiver[],
  before?: readonly Receiver[],
): Promise<void> {
  if (isDeepStrictEqual(receivers, before)) return;
  const users = receivers.flatMap((one) => (one.kind === 'email' ? [one.user_id] : []));
  const members = users.length === 0 ? new Set() : await selectMembers(tx, tenant_id, users);
  const seen = new Set<string>();
  const issues = receivers.flatMap((receiver, i) => {
    const refused = (path: string, message: string) => [{ path: `receivers.${i}.${path}`, message }];
    const key = receiver.kind === 'email' ? `email ${receiver.user_id}` : `webhook ${receiver.url}`;
    const is_double = seen.has(key);
    seen.add(key);
    if (receiver.kind === 'email') {
      if (is_double) return refused('user_id', 'must be named once');
      if (!members.has(receiver.user_id)) return refused('user_id', 'must be a member of the tenant');
      return isAddress(receiver.address) ? [] : refused('address', 'must be an email address');
    }
    if (is_double) return refused('url', 'must be named once');
    const problem = egress.problemOf(receiver.url);
    return problem === undefined ? [] : refused('url', problem);
  });
  if (issues.length > 0) throw validationError(issues);
}
