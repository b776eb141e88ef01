import type { ReactNode } from 'react';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import css from './developers.module.css';

const m = t.developers;

interface SecretProps {
  title: string;
  secret: string;
  /** What the secret is, for the button that copies it. */
  what: string;
  onClose: () => void;
  children: ReactNode;
  /** Said below the secret. */
  further?: ReactNode;
}

/** Shows a new secret, which no later answer has. */
export function Secret({ title, secret, what, onClose, children, further }: SecretProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      // A click outside of the dialog must not take the secret away.
      mayClose={() => false}
      actions={
        <Button kind="primary" onClick={onClose}>
          {m.haveIt}
        </Button>
      }
    >
      {children}
      <SecretText secret={secret} what={what} />
      {further}
    </Dialog>
  );
}

/** A secret with a button that copies it. */
export function SecretText({ secret, what }: Pick<SecretProps, 'secret' | 'what'>) {
  return (
    <p className={css['secret']}>
      <code>{secret}</code> <Copy text={secret} what={what} />
    </p>
  );
}
