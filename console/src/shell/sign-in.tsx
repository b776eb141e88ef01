import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { ApiError } from '@player-engagement/client';
import { sessionEnded } from '../api/session-ended.ts';
import {
  onSignIn,
  openSignIn,
  providerUrl,
  signInOptions,
  signInToDemo,
  type SignInOptions,
} from '../api/sign-in.ts';
import { t } from '../messages/t.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failed, Loading } from '../ui/states.tsx';
import css from './sign-in.module.css';

function useOptions() {
  return useQuery<SignInOptions, ApiError>({
    queryKey: ['sign-in options'],
    queryFn: ({ signal }) => signInOptions(signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Signs in to the demo; then everything is asked again. */
function useDemo() {
  const client = useQueryClient();
  return useMutation<void, ApiError>({
    mutationFn: signInToDemo,
    onSuccess: async () => {
      sessionEnded.mended();
      await client.invalidateQueries();
    },
  });
}

/**
 * The page of somebody who is not signed in. On the service's own machine, in development, it signs in by itself: the
 * printed link opens the console.
 */
export function SignIn() {
  const options = useOptions();
  const demo = useDemo();
  const { mutate, isIdle } = demo;
  const is_development = options.data?.development === true;
  useEffect(() => {
    if (is_development && isIdle) mutate();
  }, [is_development, isIdle, mutate]);
  return (
    <main className={css['page']}>
      <h1>{t.signIn.title}</h1>
      {options.error === null ? null : <Failed error={options.error} retry={() => void options.refetch()} />}
      {demo.error === null ? null : <Failed error={demo.error} />}
      {options.data === undefined && options.error === null ? <Loading what={t.signIn.checking} /> : null}
      {options.data === undefined ? null : <Ways options={options.data} onDemo={() => mutate()} />}
    </main>
  );
}

function Ways({ options, onDemo }: { options: SignInOptions; onDemo: () => void }) {
  if (options.provider) {
    return (
      <a className={css['provider']} href={providerUrl()}>
        {t.signIn.provider}
      </a>
    );
  }
  if (!options.development) return <p>{t.signIn.none}</p>;
  return (
    <Button kind="primary" onClick={onDemo}>
      {t.signIn.development}
    </Button>
  );
}

/** Above a page whose session has ended: the page keeps what was typed. With a provider the sign-in is in a window of its own. */
export function SignInAgain() {
  const options = useOptions();
  const demo = useDemo();
  const client = useQueryClient();
  useEffect(
    () =>
      onSignIn(() => {
        sessionEnded.mended();
        void client.invalidateQueries();
      }),
    [client],
  );
  const again = () => (options.data?.provider === true ? openSignIn() : demo.mutate());
  return (
    <Dialog
      title={t.signIn.again}
      onClose={() => sessionEnded.mended()}
      actions={
        <Button kind="primary" onClick={again}>
          {t.signIn.again}
        </Button>
      }
    >
      <p>{t.signIn.ended}</p>
      {demo.error === null ? null : <Failed error={demo.error} />}
    </Dialog>
  );
}
