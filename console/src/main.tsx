import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from '@player-engagement/client/admin';
import { sessionEnded } from './api/session-ended.ts';
import { closeSignIn, takeLinkToken } from './api/sign-in.ts';
import { makeRouter } from './router.tsx';
import { showTheme } from './shell/theme.ts';
import './tokens.css';

const RETRIES = 2;
const STALE_MS = 10_000;

/** Asks to sign in again, above the page as it is, after a question or a change has met the end of the session. */
const onError = (error: Error) => {
  if (error instanceof ApiError && error.status === 401) sessionEnded.tell();
};

const client = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    // Without a network a change fails at once. Kept until there is one, it would happen when nobody expects it.
    mutations: { networkMode: 'always' },
    queries: {
      staleTime: STALE_MS,
      // What the caller did wrong stays wrong; the rest is asked again, later each time.
      retry: (failures, error) => error instanceof ApiError && error.is_temporary && failures < RETRIES,
      retryDelay: (failures, error) => {
        const asked_ms = error instanceof ApiError ? (error.retry_after_s ?? 0) * 1_000 : 0;
        return Math.min(30_000, Math.max(asked_ms, 500 * 2 ** failures));
      },
    },
  },
});

closeSignIn();
takeLinkToken();
showTheme();
const root = document.getElementById('root');
if (root === null) throw new Error('the page has no element "root"');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={makeRouter(client)} />
    </QueryClientProvider>
  </StrictMode>,
);
