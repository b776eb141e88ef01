import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { newActionKey, useChange } from '../../api/queries.ts';
import { formatInt } from '../../format/number.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Answered, Failed } from '../../ui/states.tsx';
import { useReferences, type SegmentRecord } from './queries.ts';
import { ReferenceTable } from './tabs.tsx';

const m = t.segments.deletion;
/** Beyond so many players the number must be typed. */
const MOST_UNTYPED = 10_000;
const SHOWN_NAME = 80;

/** Asks before a segment is deleted: its name, how many players leave it, and what uses it. */
export function Deletion({ segment, onClose }: { segment: SegmentRecord; onClose: () => void }) {
  const { id, estimated_size } = segment;
  const navigate = useNavigate();
  const references = useReferences(id);
  const remove = useChange('segments.delete');
  const [key] = useState(newActionKey);
  const [typed, setTyped] = useState('');
  const is_large = estimated_size > MOST_UNTYPED;
  const may_delete =
    references.data !== undefined &&
    !remove.isPending &&
    (!is_large || typed.replaceAll(/\D/g, '') === String(estimated_size));
  const name = segment.name.length > SHOWN_NAME ? `${segment.name.slice(0, SHOWN_NAME)}…` : segment.name;
  const run = () =>
    // The page hides what deletes as soon as it knows, and this dialog with it: callbacks of `mutate` would be lost.
    void remove.mutateAsync({ inputs: [id], idempotency_key: key }).then(
      () => navigate({ to: '/segments' }),
      // Shown below.
      () => undefined,
    );
  return (
    <Dialog
      title={m.title(name)}
      onClose={onClose}
      mayClose={() => !remove.isPending}
      actions={
        <>
          <Button onClick={onClose} disabled={remove.isPending}>
            {t.segments.build.cancel}
          </Button>
          <Button kind="danger" disabled={!may_delete} onClick={run}>
            {remove.isPending ? t.confirm.busy : m.confirm(name)}
          </Button>
        </>
      }
    >
      <p>{m.members(estimated_size)}</p>
      <Answered asked={references} what={m.loading}>
        {({ data }) =>
          data.length === 0 ? (
            <p>{m.unused}</p>
          ) : (
            <>
              <p>{m.used}</p>
              <ReferenceTable references={data} />
              <p>{m.usedHelp}</p>
            </>
          )
        }
      </Answered>
      {is_large ? (
        <Field label={m.type(formatInt(estimated_size))}>
          {(control) => (
            <input
              {...control}
              inputMode="numeric"
              value={typed}
              onChange={({ target }) => setTyped(target.value)}
            />
          )}
        </Field>
      ) : null}
      {remove.error === null ? null : <Failed error={remove.error} />}
    </Dialog>
  );
}
