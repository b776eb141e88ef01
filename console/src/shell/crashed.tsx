import type { ErrorComponentProps } from '@tanstack/react-router';
import { ApiError } from '@player-engagement/client';
import { t } from '../messages/t.ts';
import { Failed } from '../ui/states.tsx';

/** A part of the page threw: what and why, and another try. */
export function Crashed({ error, reset }: ErrorComponentProps) {
  const shown =
    error instanceof ApiError
      ? error
      : new ApiError('PAGE_FAILED', `${t.states.crashed} ${String(error)}`, { status: 0 });
  return <Failed error={shown} retry={reset} />;
}
