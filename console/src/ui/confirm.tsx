import { useState, type ReactNode } from 'react';
import type { ApiError } from '@player-engagement/client/admin';
import { formatInt } from '../format/number.ts';
import { t } from '../messages/t.ts';
import { ActDialog } from './act-dialog.tsx';
import { Field } from './field.tsx';

/** Acts on more than this ask to type the number. */
const TYPED_ABOVE = 10_000;

interface ConfirmProps {
  /** The act and its object: `Send "May offer"`. */
  title: string;
  /** The name of the button, with the object. */
  verb: string;
  /** How many are affected; absent: the one that the title names. */
  count?: number | undefined;
  /** The act is under way: the dialog cannot be closed. */
  busy: boolean;
  /** False while what the dialog tells is not known: only the act has to wait. */
  ready?: boolean;
  error: ApiError | null;
  onConfirm: () => void;
  onClose: () => void;
  children: ReactNode;
}

/** Asks before an act that cannot be undone. With more than 10,000 affected the number must be typed. */
export function Confirm({
  title,
  verb,
  count = 1,
  busy,
  ready = true,
  error,
  onConfirm,
  onClose,
  children,
}: ConfirmProps) {
  const [typed, setTyped] = useState('');
  const is_typed = count <= TYPED_ABOVE || typed.replaceAll(/\D/g, '') === String(count);
  return (
    <ActDialog
      title={title}
      verb={verb}
      kind="danger"
      busy={busy}
      ready={ready && is_typed}
      error={error}
      onAct={onConfirm}
      onClose={onClose}
    >
      {children}
      {count <= TYPED_ABOVE ? null : (
        <Field label={t.confirm.type(formatInt(count))}>
          {(control) => (
            <input
              {...control}
              inputMode="numeric"
              autoComplete="off"
              value={typed}
              onChange={({ target }) => setTyped(target.value)}
            />
          )}
        </Field>
      )}
    </ActDialog>
  );
}
