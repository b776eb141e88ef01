import { useDeferredValue, useState } from 'react';
import { usePlayerSearch } from '../../api/player-search.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { Answered } from '../../ui/states.tsx';
import css from './journeys.module.css';

const m = t.journeys.player;
const SHORTEST = 3;

/** A player that was chosen. */
export interface Chosen {
  id: string;
  name: string;
}

/** Finds a player by any id; one click chooses. */
export function PlayerChoice({
  chosen,
  onChoose,
}: {
  chosen: Chosen | undefined;
  onChoose: (player: Chosen) => void;
}) {
  const [text, setText] = useState('');
  const asked = useDeferredValue(text.trim());
  return (
    <>
      <Field label={m.search} hint={m.hint}>
        {(control) => (
          <input
            {...control}
            type="search"
            autoComplete="off"
            maxLength={200}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </Field>
      {asked.length < SHORTEST ? null : (
        <Found
          q={asked}
          onChoose={(player) => {
            setText('');
            onChoose(player);
          }}
        />
      )}
      {chosen === undefined ? null : (
        <p role="status">
          {m.chosen}: <bdi>{chosen.name}</bdi>
        </p>
      )}
    </>
  );
}

function Found({ q, onChoose }: { q: string; onChoose: (player: Chosen) => void }) {
  return (
    <Answered asked={usePlayerSearch(q)} what={m.found}>
      {({ data }) => {
        const live = data.filter(({ deleted_at }) => deleted_at === null);
        if (live.length === 0) return <p role="status">{m.nobody}</p>;
        return (
          <ul className={css['found']} aria-label={m.found}>
            {live.map(({ id, external_id, email, matched_by }) => {
              const name = external_id ?? email ?? id;
              return (
                <li key={id}>
                  <Button onClick={() => onChoose({ id, name })}>
                    <bdi>{name}</bdi> {t.players.matchedBy(matched_by)}
                  </Button>
                </li>
              );
            })}
          </ul>
        );
      }}
    </Answered>
  );
}
