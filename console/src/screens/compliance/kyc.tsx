import { useState } from 'react';
import { newActionKey, useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, Row } from '../../ui/form.tsx';
import type { KycWaiting } from './queries.ts';

const m = t.compliance.kyc;

interface DecisionProps {
  waiting: KycWaiting;
  /** What the player is called in the title. */
  name: string;
  onClose: () => void;
}

/** Approves a level for a player whose verification waits. */
export function ApproveKyc({ waiting, name, onClose }: DecisionProps) {
  const { player_id, requested_level, kyc_level } = waiting;
  const [key] = useState(newActionKey);
  const [level, setLevel] = useState(String(requested_level ?? kyc_level + 1));
  const [expires, setExpires] = useState('');
  const [note, setNote] = useState('');
  const approve = useChange('players.kyc.approve');
  const number = /^\d{1,3}$/.test(level) ? Number(level) : 0;
  const send = () => {
    const body = {
      level: number,
      ...(expires === '' ? {} : { expires_at: `${expires}T00:00:00Z` }),
      ...(note.trim() === '' ? {} : { note: note.trim() }),
    };
    approve.mutate({ inputs: [player_id, body], idempotency_key: key }, { onSuccess: onClose });
  };
  return (
    <ActDialog
      title={m.approveTitle(name)}
      verb={m.approveVerb}
      busy={approve.isPending}
      ready={number > 0}
      error={approve.error}
      onAct={send}
      onClose={onClose}
    >
      <Form disabled={approve.isPending}>
        <Row>
          <Field label={m.level} hint={m.levelHint(kyc_level)}>
            {(control) => (
              <input
                {...control}
                type="number"
                min={1}
                value={level}
                onChange={({ target }) => setLevel(target.value)}
              />
            )}
          </Field>
          <Field label={m.expires} hint={m.expiresHint}>
            {(control) => (
              <input
                {...control}
                type="date"
                value={expires}
                onChange={({ target }) => setExpires(target.value)}
              />
            )}
          </Field>
        </Row>
        <Field label={m.note}>
          {(control) => (
            <textarea
              {...control}
              rows={2}
              maxLength={500}
              value={note}
              onChange={({ target }) => setNote(target.value)}
            />
          )}
        </Field>
      </Form>
    </ActDialog>
  );
}

/** Refuses a verification that waits, with the reason. */
export function RefuseKyc({ waiting, name, onClose }: DecisionProps) {
  const [key] = useState(newActionKey);
  const [reason, setReason] = useState('');
  const revoke = useChange('players.kyc.revoke');
  return (
    <ActDialog
      title={m.refuseTitle(name)}
      verb={m.refuseVerb}
      busy={revoke.isPending}
      ready={reason.trim() !== ''}
      error={revoke.error}
      onAct={() =>
        revoke.mutate(
          { inputs: [waiting.player_id, { reason: reason.trim() }], idempotency_key: key },
          { onSuccess: onClose },
        )
      }
      onClose={onClose}
    >
      <Field label={m.reason} hint={m.reasonHint}>
        {(control) => (
          <textarea
            {...control}
            rows={3}
            maxLength={500}
            value={reason}
            onChange={({ target }) => setReason(target.value)}
          />
        )}
      </Field>
    </ActDialog>
  );
}
