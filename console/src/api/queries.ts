import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useRef } from 'react';
import { call, type Answer, type ApiRequest, type QueryValues } from './call.ts';
import type { ApiError } from './errors.ts';
import { writeExactly } from './json.ts';
import { usePlace } from './place.tsx';

interface ReadOptions {
  /** False: not asked. */
  enabled?: boolean;
  /** Asks again after so many milliseconds, while the page is visible. */
  refresh_ms?: number;
  /** Shows the answer to the former question until the new one is there. */
  keep_previous?: boolean;
}

/** Reads one resource of the project. An earlier question is aborted when the parameters change. */
export function useRead<T>(path: string, query: QueryValues = {}, options: ReadOptions = {}) {
  const place = usePlace();
  const { enabled = true, refresh_ms, keep_previous = false } = options;
  return useQuery<Answer<T>, ApiError>({
    queryKey: [place.project_id, path, query],
    queryFn: ({ signal }) => call<T>({ path, query, project: place, signal }),
    enabled,
    ...(refresh_ms === undefined ? {} : { refetchInterval: refresh_ms }),
    ...(keep_previous ? { placeholderData: keepPreviousData } : {}),
  });
}

const PAGE = 100;
const PRECONDITION_FAILED = 412;

/** Reads a list of the project page by page; `rows` are those of all pages so far. */
export function useList<T>(
  path: string,
  query: QueryValues = {},
  options: ReadOptions & { page?: number } = {},
) {
  const place = usePlace();
  const { enabled = true, page = PAGE, refresh_ms, keep_previous = false } = options;
  const result = useInfiniteQuery({
    queryKey: [place.project_id, path, 'pages', query, page],
    queryFn: ({ signal, pageParam }) =>
      call<T[]>({ path, query: { ...query, limit: page, cursor: pageParam }, project: place, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }: Answer<T[]>) => next_cursor ?? undefined,
    enabled,
    ...(refresh_ms === undefined ? {} : { refetchInterval: refresh_ms }),
    ...(keep_previous ? { placeholderData: keepPreviousData } : {}),
  });
  return {
    ...result,
    error: result.error as ApiError | null,
    rows: result.data?.pages.flatMap(({ data }) => data),
  };
}

/**
 * Changes something of the project, then asks again what the project's pages show; also when somebody else has changed the
 * record since. The caller gives each action its own Idempotency-Key: see {@link newActionKey}. While a request is under
 * way, another one with its key, or without keys another of the same content, is the same one. The answer is not kept: it
 * may have a secret.
 */
export function useChange<T>() {
  const place = usePlace();
  const client = useQueryClient();
  const running = useRef<{ action: string; answer: Promise<Answer<T>> }>(undefined);
  const askAgain = () => client.invalidateQueries({ queryKey: [place.project_id] });
  return useMutation<Answer<T>, ApiError, Omit<ApiRequest, 'project' | 'signal'>>({
    mutationFn: (request) => {
      const { idempotency_key, method, path, query, body } = request;
      const action = idempotency_key ?? writeExactly([method, path, query, body]);
      // The second click comes before the button is shown as busy.
      if (running.current?.action === action) return running.current.answer;
      const answer = call<T>({ ...request, project: place });
      running.current = { action, answer };
      const end = () => {
        if (running.current?.answer === answer) running.current = undefined;
      };
      void answer.then(end, end);
      return answer;
    },
    onSuccess: askAgain,
    onError: ({ status }) => {
      if (status === PRECONDITION_FAILED) void askAgain();
    },
    gcTime: 0,
  });
}

/** A new Idempotency-Key: made when a dialog opens, so that a double click is one action. */
export function newActionKey(): string {
  return crypto.randomUUID();
}
