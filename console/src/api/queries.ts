import { actionKey, type ApiError, type CallOptions, type Page } from '@player-engagement/client/admin';
import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { ask, type Answer, type DataOf, type InputsOf, type Operation } from './client.ts';
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

interface ListOptions extends ReadOptions {
  /** Rows of a page. */
  page?: number;
  /** Pages that are missing follow by themselves. */
  is_whole?: boolean;
}

/** As {@link ReadOptions}; how soon it is asked again may depend on the last answer. */
interface ReadOneOptions<Data> extends Omit<ReadOptions, 'refresh_ms'> {
  refresh_ms?: number | ((data: Data | undefined) => number);
}

/**
 * Reads one resource of the project: `useRead('players.get', [id])`. An earlier question is aborted when the inputs
 * change.
 */
export function useRead<O extends Operation>(
  operation: O,
  inputs: InputsOf<O>,
  { enabled = true, refresh_ms, keep_previous = false }: ReadOneOptions<DataOf<O>> = {},
) {
  const place = usePlace();
  const refreshOf = (data: DataOf<O> | undefined) =>
    typeof refresh_ms === 'function' ? refresh_ms(data) : refresh_ms;
  return useQuery<Answer<DataOf<O>>, ApiError>({
    queryKey: [place.project_id, operation, ...inputs],
    queryFn: ({ signal }) => ask(operation, inputs, { project: place, signal }),
    enabled,
    refetchInterval: ({ state }) => refreshOf(state.data?.data) ?? false,
    ...(keep_previous ? { placeholderData: keepPreviousData } : {}),
  });
}

/** An operation that answers with pages. */
type ListOperation = {
  [O in Operation]: DataOf<O> extends Page<unknown> ? O : never;
}[Operation];

/** One element of a list. */
export type RowOf<O extends ListOperation> = DataOf<O> extends Page<infer Row> ? Row : never;

/** What a list is asked with: its ids, then what it is filtered by. */
type FiltersOf<O extends ListOperation> =
  InputsOf<O> extends [...infer Ids, infer Query]
    ? {} extends WithoutPage<Query>
      ? [...Ids, query?: WithoutPage<Query>]
      : [...Ids, query: WithoutPage<Query>]
    : never;
type WithoutPage<Query> = Omit<NonNullable<Query>, 'cursor' | 'limit'>;

/** What a list can be filtered by. */
export type FiltersIn<O extends ListOperation> =
  InputsOf<O> extends [...unknown[], infer Query] ? WithoutPage<Query> : never;

const PAGE = 100;
/** The largest page of the API. */
const LARGEST_PAGE = 200;
const PRECONDITION_FAILED = 412;

/** Reads a list of the project page by page: `useList('players.list', [{ status }])`; `rows` are those of all pages so far. */
export function useList<O extends ListOperation>(
  operation: O,
  inputs: FiltersOf<O>,
  { enabled = true, page = PAGE, refresh_ms, keep_previous = false, is_whole = false }: ListOptions = {},
) {
  const place = usePlace();
  const ids = inputs.filter((input) => typeof input === 'string');
  const filters = inputs.find((input): input is object => typeof input === 'object');
  const result = useInfiniteQuery({
    queryKey: [place.project_id, operation, 'pages', ...ids, filters, page],
    queryFn: ({ signal, pageParam }) => {
      const query = { ...filled(filters), limit: page, cursor: pageParam };
      return ask(operation, [...ids, query] as InputsOf<O>, { project: place, signal });
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ data }: Answer<DataOf<O>>) => (data as Page<RowOf<O>>).next_cursor ?? undefined,
    enabled,
    ...(refresh_ms === undefined ? {} : { refetchInterval: refresh_ms }),
    ...(keep_previous ? { placeholderData: keepPreviousData } : {}),
  });
  const { hasNextPage, isFetching, isError, fetchNextPage } = result;
  const reads_on = is_whole && hasNextPage && !isFetching && !isError;
  useEffect(() => {
    if (reads_on) void fetchNextPage();
  }, [reads_on, fetchNextPage]);
  return {
    ...result,
    rows: result.data?.pages.flatMap(({ data }) => (data as Page<RowOf<O>>).data),
  };
}

/** Reads all pages of a list, such as that of what a field can name; `rows` are those of the pages so far. */
export function useWholeList<O extends ListOperation>(operation: O, inputs: FiltersOf<O>, enabled = true) {
  return useList(operation, inputs, { enabled, page: LARGEST_PAGE, is_whole: true });
}

/** The filters that are set: an empty field of a form filters by nothing. */
function filled(filters: object = {}): object {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''));
}

/** What a change has in addition to its inputs. */
type ChangeOptions = Pick<CallOptions, 'idempotency_key' | 'if_match' | 'query'>;

type Change<O extends Operation> = ChangeOptions & { inputs: InputsOf<O> };

/**
 * Changes something of the project: `useChange('players.reveal')`, then `mutate({ inputs: [id, body], idempotency_key })`.
 * Then asks again what the project's pages show; also when somebody else has changed the record since. The caller gives
 * each action its own Idempotency-Key: see {@link newActionKey}. While a request is under way, another one with its key,
 * or without keys another of the same content, is the same one. The answer is not kept: it may have a secret.
 */
export function useChange<O extends Operation>(operation: O) {
  return useActs<Change<O>, DataOf<O>>(({ inputs }) => [operation, inputs]);
}

type Save<C extends Operation, U extends Operation> = ChangeOptions &
  ({ create: InputsOf<C> } | { update: InputsOf<U> });

/** As {@link useChange}, for a form that makes a record, or changes one that exists. */
export function useSave<C extends Operation, U extends Operation>(create: C, update: U) {
  return useActs<Save<C, U>, DataOf<C> | DataOf<U>>((save) =>
    'create' in save ? [create, save.create] : [update, save.update],
  );
}

/** What the `mutate` of a {@link useSave} takes. */
export type SaveOf<S extends { mutate: (save: never) => void }> = Parameters<S['mutate']>[0];

function useActs<A extends ChangeOptions, Data>(callOf: (act: A) => [Operation, readonly unknown[]]) {
  const place = usePlace();
  const queries = useQueryClient();
  const running = useRef<{ action: string; answer: Promise<Answer<Data>> }>(undefined);
  const askAgain = () => queries.invalidateQueries({ queryKey: [place.project_id] });
  return useMutation<Answer<Data>, ApiError, A>({
    mutationFn: (act) => {
      const { idempotency_key, if_match, query } = act;
      const [operation, inputs] = callOf(act);
      const action = idempotency_key ?? writeExactly([operation, inputs, query]);
      // The second click comes before the button is shown as busy.
      if (running.current?.action === action) return running.current.answer;
      const options = { idempotency_key, if_match, query, project: place };
      const answer = ask(operation, inputs as InputsOf<Operation>, options) as Promise<Answer<Data>>;
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

/** The Idempotency-Key of an action by its content: another try has the same one, unless something else is asked. */
export function useKeyOf(): (content: unknown) => string {
  const last = useRef<{ content: string; key: string }>(undefined);
  return (content) => {
    const text = writeExactly(content);
    if (last.current?.content !== text) last.current = { content: text, key: actionKey() };
    return last.current.key;
  };
}

/** A new Idempotency-Key: made when a dialog opens, so that a double click is one action. */
export const newActionKey = actionKey;
