import { useDeferredValue, useState } from 'react';
import { usePlayerSearch } from '../api/player-search.ts';
import { useNameOfPlayer } from '../api/player-names.ts';
import { nameWith, playerName } from '../format/mask.ts';
import { isUuid } from '../format/uuid.ts';
import { t } from '../messages/t.ts';
import { Button } from './button.tsx';
import { Field } from './field.tsx';
import { Buttons } from './form.tsx';

const m = t.playerChoice;

/** How a player is called, as {@link nameWith} says; undefined: no player. */
export function usePlayerName(id: string | undefined): string | undefined {
  const found = useNameOfPlayer(id);
  if (id === undefined) return undefined;
  return nameWith({ external_id: found?.external_id ?? null, masked: found?.masked_email, id });
}

interface PlayerChoiceProps {
  label: string;
  /** The id of the chosen one. */
  value: string | undefined;
  onChoose: (id: string | undefined) => void;
  error?: string | undefined;
}

/** One player, found by any id, or none. What was chosen is shown by name, with a button that gives it up. */
export function PlayerChoice({ label, value, onChoose, error }: PlayerChoiceProps) {
  const name = usePlayerName(value);
  if (value === undefined) return <Search label={label} onChoose={onChoose} error={error} />;
  return (
    <div role="group" aria-label={label}>
      <strong>{label}</strong>
      <Buttons>
        <bdi>{name}</bdi>
        <Button kind="quiet" onClick={() => onChoose(undefined)}>
          {m.other}
        </Button>
      </Buttons>
      {error === undefined ? null : <p role="alert">{error}</p>}
    </div>
  );
}

function Search({ label, onChoose, error }: Omit<PlayerChoiceProps, 'value'>) {
  const [text, setText] = useState('');
  const asked = useDeferredValue(text.trim());
  const is_id = isUuid(asked);
  const found = usePlayerSearch(is_id ? '' : asked);
  const rows = is_id || asked.length < 3 ? [] : (found.data?.data ?? []);
  const none = !is_id && asked.length >= 3 && found.data !== undefined && rows.length === 0;
  const change = (next: string) => {
    setText(next);
    if (isUuid(next.trim())) onChoose(next.trim().toLowerCase());
  };
  return (
    <div>
      <Field label={label} hint={none ? m.none : m.hint} error={error ?? found.error?.message}>
        {(control) => (
          <input
            {...control}
            type="search"
            autoComplete="off"
            maxLength={200}
            value={text}
            onChange={({ target }) => change(target.value)}
          />
        )}
      </Field>
      <Buttons>
        {rows.slice(0, 10).map((row) => (
          <Button key={row.id} onClick={() => onChoose(row.id)}>
            <bdi>{playerName(row)}</bdi>
          </Button>
        ))}
      </Buttons>
    </div>
  );
}
