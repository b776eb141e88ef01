import type { Template } from '@player-engagement/client/admin';
import { useState } from 'react';
import { useChange } from '../api/queries.ts';
import { wordsOf } from '../format/code-words.ts';
import { t } from '../messages/t.ts';
import { Badge } from './badge.tsx';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Field } from './field.tsx';
import { Failed } from './states.tsx';

const m = t.templates;

/** Sends the saved template to one address. */
export function SendTest({
  template,
  player,
  onClose,
}: {
  template: Pick<Template, 'id' | 'name'>;
  player: string | undefined;
  onClose: () => void;
}) {
  const [recipient, setRecipient] = useState('');
  const test = useChange('templates.sendTest');
  const result = test.data?.data;
  const send = () =>
    test.mutate({ inputs: [template.id, { recipient: recipient.trim(), player_id: player ?? null }] });
  return (
    <Dialog
      title={m.testTitle(template.name.slice(0, 100))}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t.dialog.close}</Button>
          <Button kind="primary" onClick={send} disabled={test.isPending || recipient.trim() === ''}>
            {m.sendTest}
          </Button>
        </>
      }
    >
      <Field label={m.recipient} hint={m.recipientHint}>
        {(control) => (
          <input
            {...control}
            maxLength={4_096}
            value={recipient}
            onChange={({ target }) => setRecipient(target.value)}
          />
        )}
      </Field>
      {test.error === null ? null : <Failed error={test.error} />}
      {result === undefined ? null : (
        <p role="status">
          {result.status === 'sent' ? (
            <Badge tone="good">{m.testSent(result.recipient)}</Badge>
          ) : (
            <Badge tone="bad">{m.testFailed(wordsOf(result.error_code ?? ''))}</Badge>
          )}
        </p>
      )}
    </Dialog>
  );
}
