import { useEffect, useId, useRef, type ReactNode } from 'react';
import { t } from '../messages/t.ts';
import { Button } from './button.tsx';
import css from './dialog.module.css';

interface DialogProps {
  title: string;
  onClose: () => void;
  /** Drawers lie at the right edge and leave the page visible. */
  as?: 'dialog' | 'drawer';
  /** What has the focus first: a field, if there is one, or the first button, which must be the safe one. */
  first?: 'field' | 'button';
  /** Asked before it closes by Escape or a click outside; false keeps it open. */
  mayClose?: () => boolean;
  children: ReactNode;
  /** The buttons; absent: a single one that closes. */
  actions?: ReactNode;
}

const FIELD = ':is(input, select, textarea):enabled';

/** A modal dialog or drawer; open for as long as it is rendered. Focus returns to where it was. */
export function Dialog({
  title,
  onClose,
  as = 'dialog',
  first = 'field',
  mayClose = () => true,
  children,
  actions,
}: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const footer = useRef<HTMLElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    const field = first === 'field' ? content.current?.querySelector<HTMLElement>(FIELD) : undefined;
    (field ?? footer.current?.querySelector<HTMLElement>('button:enabled'))?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, [first]);
  const close = () => {
    if (mayClose()) onClose();
  };
  return (
    <dialog
      ref={ref}
      className={css[as]}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClose={() => {
        // Browsers close it without asking when Escape is pressed twice. Once it is not rendered any more, nothing is to do.
        if (ref.current === null) return;
        if (mayClose()) onClose();
        else ref.current.showModal();
      }}
      onMouseDown={(event) => {
        if (event.target === ref.current) close();
      }}
    >
      <div className={css['body']}>
        <header>
          <h2 id={heading}>{title}</h2>
          <Button kind="quiet" onClick={close} aria-label={t.dialog.close}>
            ✕
          </Button>
        </header>
        <div ref={content} className={css['content']}>
          {children}
        </div>
        <footer ref={footer}>{actions ?? <Button onClick={close}>{t.dialog.close}</Button>}</footer>
      </div>
    </dialog>
  );
}
