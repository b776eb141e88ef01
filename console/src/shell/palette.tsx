import { useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useId, useState, type KeyboardEvent } from 'react';
import { playerName } from '../format/mask.ts';
import { t } from '../messages/t.ts';
import { Dialog } from '../ui/dialog.tsx';
import { usePlayerSearch } from '../api/player-search.ts';
import css from './palette.module.css';
import { SCREENS } from './screens.ts';

interface Choice {
  key: string;
  text: string;
  go: () => void;
}

/** One field for every screen and every player. */
export function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const list = useId();
  const asked = useDeferredValue(text.trim());
  const found = usePlayerSearch(asked);
  const screens: Choice[] = SCREENS.filter(({ name }) =>
    name.toLowerCase().includes(asked.toLowerCase()),
  ).map(({ path, name }) => ({ key: path, text: name, go: () => void navigate({ to: path }) }));
  const players: Choice[] = (found.data?.data ?? []).map((player) => ({
    key: player.id,
    text: `${playerName(player)} — ${t.players.matchedBy(player.matched_by)}`,
    go: () => void navigate({ to: '/players/$id', params: { id: player.id } }),
  }));
  const choices = [...screens, ...players];
  const current = Math.min(active, Math.max(0, choices.length - 1));
  const go = (choice: Choice | undefined) => {
    if (choice === undefined) return;
    onClose();
    choice.go();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      setActive((current + by + choices.length) % Math.max(1, choices.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      go(choices[current]);
    }
  };
  return (
    <Dialog title={t.palette.title} onClose={onClose}>
      <input
        className={css['field']}
        type="search"
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={choices.length === 0 ? undefined : `${list}-${current}`}
        aria-label={t.palette.placeholder}
        placeholder={t.palette.placeholder}
        maxLength={200}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id={list} role="listbox" aria-label={t.palette.title} className={css['list']}>
        {choices.map((choice, i) => (
          <li
            key={choice.key}
            id={`${list}-${i}`}
            role="option"
            aria-selected={i === current}
            onClick={() => go(choice)}
            onMouseMove={() => setActive(i)}
          >
            {choice.text}
          </li>
        ))}
      </ul>
      <p role="status">{choices.length === 0 && !found.isFetching ? t.palette.nothing : t.palette.keys}</p>
    </Dialog>
  );
}
