import { useNavigate } from '@tanstack/react-router';
import type { FoundRecord } from '@player-engagement/client/admin';
import { useDeferredValue, useId, useState, type KeyboardEvent } from 'react';
import { useMayEdit } from '../api/place.tsx';
import { usePlayerSearch } from '../api/player-search.ts';
import { useRead } from '../api/queries.ts';
import { hasWords } from '../format/search.ts';
import { mayBePersonal, playerName } from '../format/mask.ts';
import { t } from '../messages/t.ts';
import { Dialog } from '../ui/dialog.tsx';
import css from './palette.module.css';
import { SCREENS } from './screens.ts';

const m = t.palette;

interface Choice {
  key: string;
  text: string;
  /** What it is. */
  kind: string;
  go: () => void;
}

/** The page of a record of each type. */
const PAGES = {
  segment: '/segments/$id',
  campaign: '/campaigns/$id',
  journey: '/journeys/$id',
  template: '/templates/$id',
  bonus_template: '/bonuses/templates/$id',
  bonus_campaign: '/bonuses/campaigns/$id',
} as const satisfies Record<FoundRecord['type'], string>;

/** One field for every screen, what one can begin, every record by its name, and every player. */
export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const list = useId();
  const asked = useDeferredValue(text.trim());
  const { choices, is_asking } = useChoices(asked, onHelp);
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
    <Dialog title={m.title} onClose={onClose}>
      <input
        className={css['field']}
        type="search"
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={choices.length === 0 ? undefined : `${list}-${current}`}
        aria-label={m.placeholder}
        placeholder={m.placeholder}
        maxLength={200}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id={list} role="listbox" aria-label={m.title} className={css['list']}>
        {choices.map((choice, i) => (
          <li
            key={choice.key}
            id={`${list}-${i}`}
            role="option"
            aria-selected={i === current}
            ref={i === current ? intoView : undefined}
            onClick={() => go(choice)}
            onMouseMove={() => setActive(i)}
          >
            <bdi>{choice.text}</bdi> <span className={css['kind']}>{choice.kind}</span>
          </li>
        ))}
      </ul>
      <p role="status">{choices.length === 0 && !is_asking ? m.nothing : m.keys}</p>
    </Dialog>
  );
}

const intoView = (option: HTMLElement | null) => option?.scrollIntoView({ block: 'nearest' });

/** What has the words of the text: screens first, then records, players, and what one can do. */
function useChoices(asked: string, onHelp: () => void): { choices: Choice[]; is_asking: boolean } {
  const navigate = useNavigate();
  const actions = useActions(onHelp);
  const players = usePlayerSearch(asked);
  // What may name a person is looked for among players only.
  const by_name = asked !== '' && !mayBePersonal(asked);
  const records = useRead('search.list', [{ q: asked }], { enabled: by_name, keep_previous: by_name });
  const screens = SCREENS.map(({ path, name }) => ({
    key: path,
    text: name,
    kind: m.kinds.screen,
    go: () => void navigate({ to: path }),
  }));
  const found = ((by_name ? records.data?.data : undefined) ?? []).map(({ type, id, name }) => ({
    key: `${type} ${id}`,
    text: name.slice(0, 200),
    kind: m.records[type],
    go: () => void navigate({ to: PAGES[type], params: { id } }),
  }));
  const named = (players.data?.data ?? []).map((player) => ({
    key: player.id,
    text: `${playerName(player)} — ${t.players.matchedBy(player.matched_by)}`,
    kind: m.kinds.player,
    go: () => void navigate({ to: '/players/$id', params: { id: player.id } }),
  }));
  const isMeant = ({ text }: Choice) => hasWords(text, asked);
  return {
    choices: [...screens.filter(isMeant), ...found, ...named, ...actions.filter(isMeant)],
    is_asking: players.isFetching || records.isFetching,
  };
}

function useActions(onHelp: () => void): Choice[] {
  const navigate = useNavigate();
  const may_edit = useMayEdit();
  const make: [string, () => void][] = may_edit
    ? [
        [m.actions.segment, () => void navigate({ to: '/segments/new' })],
        [m.actions.campaign, () => void navigate({ to: '/campaigns/$id', params: { id: 'new' } })],
        [m.actions.journey, () => void navigate({ to: '/journeys/new' })],
        [m.actions.template, () => void navigate({ to: '/templates/$id', params: { id: 'new' } })],
      ]
    : [];
  const all: [string, () => void][] = [...make, [m.actions.keys, onHelp]];
  return all.map(([text, go]) => ({ key: text, text, kind: m.kinds.action, go }));
}
