import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { isUuid, uuidOf } from '../../format/uuid.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { PlayerChoice } from '../../ui/player-choice.tsx';

const m = t.compliance;
/**
 * The ids of users and of what people change: UUIDs, the `sub` of identity providers, pairs of currencies. An email, a
 * telephone number and a name of two words have other forms.
 */
const ID = /^(?!(?:[./-]*\d){6,15}[./-]*$)[\w.:|/-]{1,200}$/;

/** What is wrong with a text of the filter; undefined: nothing. */
function faultOf({ type }: Filter, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (type === 'player') return isUuid(text) ? undefined : m.playerIdNeeded;
  return type === 'id' && !ID.test(text) ? m.idNeeded : undefined;
}

function faultsOf(
  filters: readonly Filter[],
  texts: Readonly<Partial<Record<string, string | undefined>>>,
): ReadonlyMap<string, string> {
  return new Map(
    filters.flatMap((filter) => {
      const fault = faultOf(filter, texts[filter.name]);
      return fault === undefined ? [] : [[filter.name, fault] as const];
    }),
  );
}

/** A filter: a choice, a text, an id, a player found by any id, or a time in UTC. */
export interface Filter {
  name: 'state' | 'kind' | 'player' | 'code' | 'user' | 'action' | 'resource' | 'from' | 'to';
  label: string;
  type: 'text' | 'id' | 'player' | 'time';
  /** The choices by value; absent: any text. */
  choices?: Readonly<Record<string, string>>;
}

/** The times that every list can be narrowed to. */
export const TIMES: readonly Filter[] = [
  { name: 'from', label: m.from, type: 'time' },
  { name: 'to', label: m.to, type: 'time' },
];

/** The filters of a list; the address holds what was asked. Nothing personal gets there: of people only their ids. */
export function Filters({
  filters,
  values,
}: {
  filters: readonly Filter[];
  values: Readonly<Partial<Record<Filter['name'], string | undefined>>>;
}) {
  const navigate = useNavigate({ from: '/compliance' });
  const address = filters.map(({ name }) => values[name]).join('\n');
  /** Texts that are not ids, by the names of their filters, and the address that stayed because of them. */
  const [refused, setRefused] = useState<{ at: string; faults: ReadonlyMap<string, string> }>();
  // What the address has and no filter knows narrows nothing, so its field says it.
  const shown = refused?.at === address ? refused.faults : faultsOf(filters, values);
  const ask = (submitted: FormEvent<HTMLFormElement>) => {
    submitted.preventDefault();
    const form = new FormData(submitted.currentTarget);
    // A player is in the address as soon as one is chosen.
    const typed = filters.filter(({ type }) => type !== 'player');
    const asked = Object.fromEntries(typed.map(({ name }) => [name, textOf(form.get(name))]));
    const faults = faultsOf(typed, asked);
    setRefused({ at: address, faults });
    if (faults.size > 0) return;
    void navigate({ search: (before) => ({ ...before, ...asked }) });
  };
  return (
    // Keyed by the address, so that the fields follow the browser's back button.
    <form key={address} onSubmit={ask} role="search">
      <search>
        {filters.map(({ name, label, type, choices }) =>
          type === 'player' ? (
            <PlayerChoice
              key={name}
              label={label}
              value={uuidOf(values[name])}
              error={shown.get(name)}
              onChoose={(id) => void navigate({ search: (before) => ({ ...before, [name]: id }) })}
            />
          ) : (
            <Field
              key={name}
              label={label}
              hint={type === 'id' ? m.idHint : undefined}
              error={shown.get(name)}
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
          ),
        )}
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
