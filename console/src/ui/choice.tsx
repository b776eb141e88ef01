import { useState, type ReactNode } from 'react';
import { hasWords } from '../format/search.ts';
import { t } from '../messages/t.ts';
import { Field } from './field.tsx';
import type { Pages } from './listed.tsx';
import { Failed } from './states.tsx';

/** A choice among more than this can be searched. */
const SEARCHED_ABOVE = 20;

/** Those of many choices whose name has what somebody types, and the field for that; few choices need none. */
export function useNarrowed<Row>(
  label: string,
  rows: readonly Row[],
  nameOf: (row: Row) => string,
): { found: readonly Row[]; search: ReactNode } {
  const [text, setText] = useState('');
  if (rows.length <= SEARCHED_ABOVE) return { found: rows, search: null };
  const found = rows.filter((row) => hasWords(nameOf(row), text));
  const name = t.choice.search(label);
  const search = (
    <>
      <input
        type="search"
        aria-label={name}
        placeholder={name}
        maxLength={200}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      {found.length === 0 ? <span role="status">{t.choice.none}</span> : null}
    </>
  );
  return { found, search };
}

interface ChoiceProps<Row> {
  label: string;
  /** All pages of a list. */
  pages: Pages<Row>;
  /** The id of the chosen one; null: none. */
  value: string | null;
  /** The name of no choice. */
  none: string;
  keyOf: (row: Row) => string;
  nameOf: (row: Row) => string;
  error?: string | undefined;
  onChange: (id: string | null) => void;
}

/** A choice among all that a list of the API has. What was chosen stays, also before its page is there. */
export function Choice<Row>({ label, pages, value, none, keyOf, nameOf, error, onChange }: ChoiceProps<Row>) {
  const rows = pages.rows ?? [];
  const { found, search } = useNarrowed(label, rows, nameOf);
  const chosen = rows.find((row) => keyOf(row) === value);
  const shown = chosen === undefined || found.includes(chosen) ? found : [chosen, ...found];
  return (
    <div>
      <Field label={label} error={error} hint={pages.hasNextPage ? t.grid.loadingMore : undefined}>
        {(control) => (
          <>
            {search}
            <select
              {...control}
              value={value ?? ''}
              onChange={({ target }) => onChange(target.value === '' ? null : target.value)}
            >
              <option value="">{none}</option>
              {value === null || chosen !== undefined ? null : <option value={value}>{value}</option>}
              {shown.map((row) => (
                <option key={keyOf(row)} value={keyOf(row)}>
                  {nameOf(row).slice(0, 200)}
                </option>
              ))}
            </select>
          </>
        )}
      </Field>
      {pages.error === null ? null : <Failed error={pages.error} retry={() => void pages.refetch()} />}
    </div>
  );
}
