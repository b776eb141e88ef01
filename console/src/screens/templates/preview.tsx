import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { usePlayerSearch } from '../../api/player-search.ts';
import { playerName } from '../../format/mask.ts';
import { isUuid } from '../../format/uuid.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { RenderedTemplate } from '../../ui/template-preview.tsx';
import type { TemplateRecord } from './queries.ts';
import css from './templates.module.css';

const route = getRouteApi('/templates/$id');
const m = t.templates;
const WIDTHS = ['desktop', 'phone'] as const;

/** The saved template as a player would get it, in a frame in which nothing of it can run. */
export function Preview({ template, dirty }: { template: TemplateRecord; dirty: boolean }) {
  const { player, width } = route.useSearch();
  const navigate = useNavigate({ from: '/templates/$id' });
  const shown = WIDTHS.find((one) => one === width) ?? 'desktop';
  const choose = (id: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, player: id }) });
  return (
    <div className={css['preview']}>
      {dirty ? (
        <p>
          <Badge tone="warn">{m.previewSaved}</Badge>
        </p>
      ) : null}
      <PlayerChoice player={player} onChoose={choose} />
      <fieldset className={css['choices']}>
        <legend className="heard">{m.width}</legend>
        {WIDTHS.map((one) => (
          <label key={one}>
            <input
              type="radio"
              name="width"
              checked={one === shown}
              onChange={() => void navigate({ search: (before) => ({ ...before, width: one }) })}
            />{' '}
            {m.widths[one]}
          </label>
        ))}
      </fieldset>
      <RenderedTemplate template={template} player={player} width={shown} />
    </div>
  );
}

function PlayerChoice({
  player,
  onChoose,
}: {
  player: string | undefined;
  onChoose: (id: string | undefined) => void;
}) {
  const [text, setText] = useState(player ?? '');
  const asked = useDeferredValue(text.trim());
  const is_id = isUuid(asked);
  const found = usePlayerSearch(is_id ? '' : asked);
  const rows = is_id || asked === '' ? [] : (found.data?.data ?? []);
  const change = (next: string) => {
    setText(next);
    const id = next.trim();
    if (id === '') onChoose(undefined);
    else if (isUuid(id)) onChoose(id.toLowerCase());
  };
  return (
    <search>
      <Field label={m.player} hint={m.playerHint} error={is_id ? undefined : found.error?.message}>
        {(control) => (
          <input
            {...control}
            type="search"
            maxLength={200}
            value={text}
            onChange={({ target }) => change(target.value)}
          />
        )}
      </Field>
      <ul className={css['found']}>
        {rows.slice(0, 10).map((row) => (
          <li key={row.id}>
            <Button kind="quiet" onClick={() => change(row.id)}>
              <bdi>{playerName(row)}</bdi>
            </Button>
          </li>
        ))}
      </ul>
    </search>
  );
}
