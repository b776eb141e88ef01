import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { isUuid } from '../../format/uuid.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';

const m = t.compliance;
const isIdOrNone = (text: string | undefined) => text === undefined || isUuid(text);

/** A filter: a choice, a text, the id of a player, or a time in UTC. */
export interface Filter {
  name: 'state' | 'kind' | 'player' | 'code' | 'user' | 'action' | 'resource' | 'from' | 'to';
  label: string;
  type: 'text' | 'player' | 'time';
  /** The choices by value; absent: any text. */
  choices?: Readonly<Record<string, string>>;
}

/** The times that every list can be narrowed to. */
export const TIMES: readonly Filter[] = [
  { name: 'from', label: m.from, type: 'time' },
  { name: 'to', label: m.to, type: 'time' },
];

/** The filters of a list; the address holds what was asked. Nothing personal gets there: of players only their ids. */
export function Filters({
  filters,
  values,
}: {
  filters: readonly Filter[];
  values: Readonly<Partial<Record<Filter['name'], string | undefined>>>;
}) {
  const navigate = useNavigate({ from: '/compliance' });
  const address = filters.map(({ name }) => values[name]).join('\n');
  /** The address that stayed, because something else than an id was given. */
  const [refused_at, setRefusedAt] = useState<string>();
  const ask = (submitted: FormEvent<HTMLFormElement>) => {
    submitted.preventDefault();
    const form = new FormData(submitted.currentTarget);
    const asked = Object.fromEntries(filters.map(({ name }) => [name, textOf(form.get(name))]));
    const is_refused = filters.some(({ name, type }) => type === 'player' && !isIdOrNone(asked[name]));
    setRefusedAt(is_refused ? address : undefined);
    if (is_refused) return;
    void navigate({ search: (before) => ({ ...before, ...asked }) });
  };
  return (
    // Keyed by the address, so that the fields follow the browser's back button.
    <form key={address} onSubmit={ask} role="search">
      <search>
        {filters.map(({ name, label, type, choices }) => (
          <Field
            key={name}
            label={label}
            error={type === 'player' && refused_at === address ? m.playerIdNeeded : undefined}
          >
            {(control) =>
              choices === undefined ? (
                <input
                  {...control}
                  name={name}
                  type={type === 'time' ? 'datetime-local' : 'search'}
                  defaultValue={values[name] ?? ''}
                />
              ) : (
                <select {...control} name={name} defaultValue={values[name] ?? ''}>
                  <option value="">{m.any}</option>
                  {Object.entries(choices).map(([value, words]) => (
                    <option key={value} value={value}>
                      {words}
                    </option>
                  ))}
                </select>
              )
            }
          </Field>
        ))}
        <Button type="submit" kind="primary">
          {m.search}
        </Button>
      </search>
    </form>
  );
}

function textOf(value: FormDataEntryValue | null): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}
