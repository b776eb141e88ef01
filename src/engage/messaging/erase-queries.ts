import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ErasedPerson, Eraser } from '../../players/dependents.ts';

function isTheirs(tx: Tx, { tenant_id, project_id, player_ids }: ErasedPerson) {
  return tx`s.player_id = any(${plainArray(player_ids)}::text::uuid[]) and s.tenant_id = ${tenant_id}
    and s.project_id = ${project_id}`;
}

/**
 * Where messages went, what they were about, and by which ids their providers know them. What waits is not sent any more.
 * That they were sent, and what became of them, stays: figures and proofs count it.
 */
export const messageEraser: Eraser = {
  step: 'messages',
  async erase(tx, person, limit) {
    const cancelled = await tx`
      update message_sends s
      set status = 'failed', error_code = 'SKIPPED_CANCELLED', changed_xid = pg_current_xact_id()
      where ${isTheirs(tx, person)} and s.status = 'queued'`;
    const erased = await tx`
      update message_sends e
      set recipient = null, context = null, provider_message_id = null, provider_message = null
      from (
        select s.send_id from message_sends s
        where ${isTheirs(tx, person)} and s.status not in ('queued', 'sending')
          and (s.recipient is not null or s.context is not null or s.provider_message_id is not null
            or s.provider_message is not null)
        limit ${limit}) f
      where e.send_id = f.send_id and e.tenant_id = ${person.tenant_id} and e.project_id = ${person.project_id}`;
    const reported = await tx`
      delete from push_receipts s where ${isTheirs(tx, person)}`;
    return cancelled.count + erased.count + reported.count;
  },
  async inUse(tx, person) {
    const [row] = await tx<{ sends: number }[]>`
      select count(*)::integer as sends from message_sends s where ${isTheirs(tx, person)} and s.status = 'sending'`;
    return row?.sends ?? 0;
  },
};
