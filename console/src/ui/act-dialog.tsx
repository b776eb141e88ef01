import type { ApiError } from '@player-engagement/client/admin';
import type { ReactNode } from 'react';
import { t } from '../messages/t.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Failed } from './states.tsx';

interface ActDialogProps {
  title: string;
  /** The name of the button that acts. */
  verb: string;
  /** `danger`: the act cannot be undone. */
  kind?: 'primary' | 'danger';
  /** The act is under way: the dialog cannot be closed. */
  busy: boolean;
  /** False while the act has to wait: something is not known or not typed yet. */
  ready?: boolean;
  error: ApiError | null;
  onAct: () => void;
  onClose: () => void;
  children: ReactNode;
}

/**
 * A dialog for one act. It is left, or acts; what the API refuses is said below. Where the act cannot be undone, the focus
 * is on the button that leaves it.
 */
export function ActDialog({
  title,
  verb,
  kind = 'primary',
  busy,
  ready = true,
  error,
  onAct,
  onClose,
  children,
}: ActDialogProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      first={kind === 'danger' ? 'button' : 'field'}
      mayClose={() => !busy}
      actions={
        <>
          <Button onClick={onClose} disabled={busy}>
            {t.confirm.cancel}
          </Button>
          <Button kind={kind} onClick={onAct} disabled={busy || !ready}>
            {busy ? t.confirm.busy : verb}
          </Button>
        </>
      }
    >
      {children}
      {error === null ? null : <Failed error={error} />}
    </Dialog>
  );
}
