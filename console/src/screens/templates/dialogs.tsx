import { wordsOf } from '../../format/code-words.ts';
import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Failed } from '../../ui/states.tsx';
import { UsedBy } from './about.tsx';
import { useReferences, type TemplateRecord } from './queries.ts';

const m = t.templates;

/** Sends the saved template to one address. */
export function SendTest({
  template,
  player,
  onClose,
}: {
  template: TemplateRecord;
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

/** Deletes the template; shows first what uses it. */
export function Remove({
  template,
  onClose,
  onDone,
}: {
  template: TemplateRecord;
  onClose: () => void;
  onDone: () => void;
}) {
  const remove = useChange('templates.delete');
  const used = useReferences(template.id).data?.data;
  const users = (used?.campaigns.length ?? 0) + (used?.journeys.length ?? 0);
  return (
    <Confirm
      title={m.removeTitle(template.name.slice(0, 100))}
      verb={m.removeVerb}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ inputs: [template.id] }, { onSuccess: onDone })}
      onClose={onClose}
    >
      <p>{m.removeText}</p>
      {users === 0 ? null : <p>{m.removeUsers(users)}</p>}
      <UsedBy id={template.id} />
    </Confirm>
  );
}
