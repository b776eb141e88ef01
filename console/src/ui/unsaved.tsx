import { useBlocker } from '@tanstack/react-router';
import { t } from '../messages/t.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

interface GuardProps {
  dirty: boolean;
  /** Whether another address of the same page leaves the work, too, such as that of another tab. */
  leaves?: (next: { pathname: string; search: Readonly<Record<string, unknown>> }) => boolean;
}

/**
 * Asks before a page is left with unsaved work: by a link, the history, or the closing of the window. Other parts of the
 * same page do not count as leaving, unless `leaves` says so.
 */
export function UnsavedGuard({ dirty, leaves = () => false }: GuardProps) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next: { pathname, search } }) =>
      dirty && (current.pathname !== pathname || leaves({ pathname, search: { ...search } })),
    enableBeforeUnload: () => dirty,
    withResolver: true,
  });
  if (blocker.status !== 'blocked') return null;
  return (
    <Dialog
      title={t.unsaved.title}
      onClose={blocker.reset}
      actions={
        <>
          <Button onClick={blocker.reset}>{t.unsaved.stay}</Button>
          <Button kind="danger" onClick={blocker.proceed}>
            {t.unsaved.leave}
          </Button>
        </>
      }
    >
      <p>{t.unsaved.text}</p>
    </Dialog>
  );
}
