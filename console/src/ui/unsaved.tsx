import { useBlocker } from '@tanstack/react-router';
import { t } from '../messages/t.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

/**
 * Asks before a page is left with unsaved work: by a link, the history, or the closing of the window. Other parts of the
 * same page, such as tabs, do not count as leaving.
 */
export function UnsavedGuard({ dirty }: { dirty: boolean }) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => dirty && current.pathname !== next.pathname,
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
