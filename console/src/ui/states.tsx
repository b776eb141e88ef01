import type { ReactNode } from 'react';
import type { ApiError } from '@player-engagement/client/admin';
import { useNow } from '../live/now.ts';
import { formatAgo } from '../format/time.ts';
import { t } from '../messages/t.ts';
import { Button } from './button.tsx';
import { Copy } from './copy.tsx';
import css from './states.module.css';

/** Something is being asked. Shown only after a moment, so that quick answers do not flicker. */
export function Loading({ what }: { what: string }) {
  return (
    <div role="status" className={css['loading']}>
      {t.states.loading(what)}
    </div>
  );
}

/** There is nothing: what would be here, and the one next step. `call` is a request to copy. */
export function Empty({ title, children, call }: { title: string; children?: ReactNode; call?: string }) {
  return (
    <div className={css['empty']}>
      <h2>{title}</h2>
      {children}
      {call === undefined ? null : (
        <div className={css['call']}>
          <pre>{call}</pre>
          <Copy text={call} what={t.states.call} />
        </div>
      )}
    </div>
  );
}

/** A request failed: the code, what it says, the request's id, and another try. */
export function Failed({ error, retry }: { error: ApiError; retry?: (() => void) | undefined }) {
  return (
    <div role="alert" className={css['failed']}>
      <p>
        <strong>{error.code}</strong> {error.message}
      </p>
      {error.issues.length === 0 ? null : (
        <ul>
          {error.issues.slice(0, 10).map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {error.request_id === undefined ? null : (
        <p className={css['soft']}>
          {t.states.requestId} <code>{error.request_id}</code>{' '}
          <Copy text={error.request_id} what={t.states.requestId} />
        </p>
      )}
      {retry === undefined ? null : <Button onClick={retry}>{t.states.retry}</Button>}
    </div>
  );
}

/** The shown data is old, because asking again has failed. */
export function Stale({ since_ms, error, retry }: { since_ms: number; error: ApiError; retry: () => void }) {
  const now_ms = useNow();
  const age = formatAgo(since_ms, now_ms) ?? t.states.longAgo;
  return (
    <div role="status" className={css['stale']}>
      <span>
        {t.states.stale(age)} {error.code}: {error.message}
      </span>
      <Button kind="quiet" onClick={retry}>
        {t.states.retry}
      </Button>
    </div>
  );
}

/** What {@link Answered} needs of a query. */
export interface Asked<T> {
  data: T | undefined;
  error: ApiError | null;
  dataUpdatedAt: number;
  refetch: () => unknown;
}

/** The four states of a question: loading, failed, stale above the old answer, and the answer. */
export function Answered<T>({
  asked,
  what,
  children,
}: {
  asked: Asked<T>;
  what: string;
  children: (data: T) => ReactNode;
}) {
  const { data, error, dataUpdatedAt, refetch } = asked;
  const retry = () => void refetch();
  if (data === undefined)
    return error === null ? <Loading what={what} /> : <Failed error={error} retry={retry} />;
  return (
    <>
      {error === null ? null : <Stale since_ms={dataUpdatedAt} error={error} retry={retry} />}
      {children(data)}
    </>
  );
}
