import { t } from '../messages/t.ts';
import { Button } from './button.tsx';
import { Field } from './field.tsx';
import type { Pages } from './listed.tsx';
import { Failed } from './states.tsx';

interface ChoiceProps<Row> {
  label: string;
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

/** A choice among what a list of the API has, page by page. What was chosen stays, also before its page is there. */
export function Choice<Row>({ label, pages, value, none, keyOf, nameOf, error, onChange }: ChoiceProps<Row>) {
  const rows = pages.rows ?? [];
  const is_listed = value === null || rows.some((row) => keyOf(row) === value);
  return (
    <div>
      <Field label={label} error={error}>
        {(control) => (
          <select
            {...control}
            value={value ?? ''}
            onChange={({ target }) => onChange(target.value === '' ? null : target.value)}
          >
            <option value="">{none}</option>
            {is_listed ? null : <option value={value}>{value}</option>}
            {rows.map((row) => (
              <option key={keyOf(row)} value={keyOf(row)}>
                {nameOf(row).slice(0, 200)}
              </option>
            ))}
          </select>
        )}
      </Field>
      {pages.error === null ? null : <Failed error={pages.error} retry={() => void pages.refetch()} />}
      {pages.hasNextPage ? (
        <Button kind="quiet" disabled={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
          {t.grid.more}
        </Button>
      ) : null}
    </div>
  );
}
