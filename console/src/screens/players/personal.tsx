import { useState } from 'react';
import { usePlace } from '../../api/place.tsx';
import { newActionKey, useChange } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { maskText } from '../../../../src/players/masking.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Field } from '../../ui/field.tsx';
import { Failed } from '../../ui/states.tsx';
import type { PlayerRecord } from './queries.ts';

const m = t.compliance.personal;

interface Revealed {
  email: string | null;
  phone: string | null;
}

/** Email and phone, masked; who may see them asks, and that is kept in the audit log. */
export function Personal({ player }: { player: PlayerRecord }) {
  const { role } = usePlace();
  const [asking, setAsking] = useState(false);
  const [revealed, setRevealed] = useState<Revealed>();
  const shown = (text: string | null) => (text === null ? '—' : maskText(text));
  const has_any = player.email !== null || player.phone !== null;
  return (
    <>
      <Facts
        label={m.hidden}
        facts={[
          [t.players.email, revealed === undefined ? shown(player.email) : (revealed.email ?? '—')],
          [t.players.phone, revealed === undefined ? shown(player.phone) : (revealed.phone ?? '—')],
        ]}
      />
      {has_any && revealed === undefined && roleAllows(role, 'personal_data') ? (
        <Button onClick={() => setAsking(true)}>{m.reveal}</Button>
      ) : null}
      {asking ? (
        <Reveal
          player={player}
          onClose={() => setAsking(false)}
          onRevealed={(data) => {
            setRevealed(data);
            setAsking(false);
          }}
        />
      ) : null}
    </>
  );
}

function Reveal({
  player,
  onClose,
  onRevealed,
}: {
  player: PlayerRecord;
  onClose: () => void;
  onRevealed: (data: Revealed) => void;
}) {
  const [key] = useState(newActionKey);
  const [reason, setReason] = useState('');
  const reveal = useChange('players.reveal');
  const send = () =>
    reveal.mutate(
      { inputs: [player.id, reason.trim() === '' ? {} : { reason: reason.trim() }], idempotency_key: key },
      { onSuccess: ({ data }) => onRevealed(data) },
    );
  return (
    <Dialog
      title={m.title(player.external_id ?? player.id)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose} disabled={reveal.isPending}>
            {t.confirm.cancel}
          </Button>
          <Button kind="primary" onClick={send} disabled={reveal.isPending}>
            {m.verb}
          </Button>
        </>
      }
    >
      <p>{m.help}</p>
      <Field label={m.reason}>
        {(control) => (
          <input
            {...control}
            maxLength={500}
            value={reason}
            onChange={({ target }) => setReason(target.value)}
          />
        )}
      </Field>
      {reveal.error === null ? null : <Failed error={reveal.error} />}
    </Dialog>
  );
}
