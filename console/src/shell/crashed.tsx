import { useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { ApiError } from '@player-engagement/client/admin';
import { t } from '../messages/t.ts';
import { Failed } from '../ui/states.tsx';

/** A part of the page threw: what and why, and another try, which fetches a screen that could not be fetched. */
export function Crashed({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const shown =
    error instanceof ApiError
      ? error
      : new ApiError('PAGE_FAILED', `${t.states.crashed} ${String(error)}`, { status: 0 });
  const retry = async () => {
    const screens = router.state.matches.map(({ routeId }) => router.routesById[routeId]);
    await Promise.all(screens.map(async (screen) => screen.options.component?.preload?.()));
    reset();
  };
  return <Failed error={shown} retry={() => void retry()} />;
}
