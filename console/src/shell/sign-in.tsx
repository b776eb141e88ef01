import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { ApiError } from '@player-engagement/client/admin';
import { sessionEnded } from '../api/session-ended.ts';
import {
  onSignIn,
  openSignIn,
  providerUrl,
  hasLinkToken,
  signInByLink,
  signInOptions,
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

/** Signs in by the link that this page was opened with; then everything is asked again. */
function useLink() {
  const client = useQueryClient();
  return useMutation<void, ApiError>({
    mutationFn: signInByLink,
    onSuccess: async () => {
      sessionEnded.mended();
      await client.invalidateQueries();
    },
  });
}

/** Asks everything again when somebody has signed in in another window of this browser. */
function useOtherWindows() {
  const client = useQueryClient();
  useEffect(
    () =>
      onSignIn(() => {
        sessionEnded.mended();
        void client.invalidateQueries();
      }),
    [client],
  );
}

/** The page of somebody who is not signed in. In development it signs in by itself when the printed link has opened it. */
export function SignIn() {
  const options = useOptions();
  const link = useLink();
  useOtherWindows();
  const { mutate, isIdle } = link;
  const is_by_link = options.data?.development === true && hasLinkToken();
  useEffect(() => {
    if (is_by_link && isIdle) mutate();
  }, [is_by_link, isIdle, mutate]);
  return (
    <main className={css['page']}>
      <h1>{t.signIn.title}</h1>
      {options.error === null ? null : <Failed error={options.error} retry={() => void options.refetch()} />}
      {link.error === null ? null : <Failed error={link.error} />}
      {options.data === undefined && options.error === null ? <Loading what={t.signIn.checking} /> : null}
      {options.data === undefined ? null : <Ways options={options.data} />}
    </main>
  );
}

function Ways({ options }: { options: SignInOptions }) {
  if (options.provider) {
    return (
      <a className={css['provider']} href={providerUrl()}>
        {t.signIn.provider}
      </a>
    );
  }
  return <p>{options.development ? t.signIn.development : t.signIn.none}</p>;
}

/**
 * Above a page whose session has ended: the page keeps what was typed. With a provider the sign-in is in a window of its
 * own; in development a link, in another tab.
 */
export function SignInAgain() {
  const options = useOptions();
  const link = useLink();
  useOtherWindows();
  const needs_link = options.data?.development === true && !hasLinkToken();
  const again = () => (options.data?.provider === true ? openSignIn() : link.mutate());
  return (
    <Dialog
      title={t.signIn.again}
      onClose={() => sessionEnded.mended()}
      actions={
        needs_link ? null : (
          <Button kind="primary" onClick={again}>
            {t.signIn.again}
          </Button>
        )
      }
    >
      <p>{t.signIn.ended}</p>
      {needs_link ? (
        <p>
          {t.signIn.development} {t.signIn.continues}
        </p>
      ) : null}
      {link.error === null ? null : <Failed error={link.error} />}
    </Dialog>
  );
}
