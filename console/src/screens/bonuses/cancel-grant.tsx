import { useState } from 'react';
import { useMoney } from '../../api/currencies.ts';
import { newActionKey, useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Field } from '../../ui/field.tsx';
import type { Grant } from './queries.ts';

const m = t.bonuses.grant.cancel;

/** Asks before a bonus is cancelled. The key is made when the dialog opens. */
export function CancelGrant({ grant, onClose }: { grant: Grant; onClose: () => void }) {
  const [key] = useState(newActionKey);
  const [reason, setReason] = useState('');
  const cancel = useChange('bonusGrants.cancel');
  const amount = useMoney().of(grant.bonus_amount, grant.currency);
  const player = grant.player_external_id.slice(0, 100);
  const body = reason.trim() === '' ? {} : { reason: reason.trim() };
  return (
    <Confirm
      title={m.title(amount, player)}
      verb={m.button}
      busy={cancel.isPending}
      error={cancel.error}
      onConfirm={() =>
        cancel.mutate({ inputs: [grant.id, body], idempotency_key: key }, { onSuccess: onClose })
      }
      onClose={onClose}
    >
      <p>{grant.status === 'pending' ? m.pending(amount, player) : m.active(amount, player)}</p>
      <Field label={m.reason} hint={m.reasonHint}>
        {(control) => (
          <input
            {...control}
            dir="auto"
            maxLength={500}
            value={reason}
            onChange={({ target }) => setReason(target.value)}
          />
        )}
      </Field>
    </Confirm>
  );
}
