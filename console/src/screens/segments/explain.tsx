import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { usePlayerSearch } from '../../api/player-search.ts';
import { formatValue } from '../../format/value.ts';
import { playerName } from '../../format/mask.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/copy.tsx';
import { Field } from '../../ui/field.tsx';
import { Answered } from '../../ui/states.tsx';
import { useExplanation, type Explanation, type SegmentRecord } from './queries.ts';
import { ReadOnlyTree } from './read-only-tree.tsx';
import { useSayer } from './sayer.ts';
import css from './segments.module.css';

const route = getRouteApi('/segments/$id');
const m = t.segments.explain;
const SHORTEST = 3;

/** Why a player is in the segment or not, condition by condition. The player is in the address. */
export function Explain({ segment }: { segment: SegmentRecord }) {
  const { player } = route.useSearch();
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const asked = useDeferredValue(text.trim());
  const choose = (player_id: string) => {
    setText('');
    void navigate({
      to: '/segments/$id',
      params: { id: segment.id },
      search: (before) => ({ ...before, tab: 'explain', player: player_id }),
    });
  };
  return (
    <>
      <Field label={m.search} hint={m.hint}>
        {(control) => (
          <input
            {...control}
            type="search"
            maxLength={200}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </Field>
      {asked.length < SHORTEST ? null : <Found q={asked} onChoose={choose} />}
      {player === undefined ? null : <Reason segment={segment} player_id={player} />}
    </>
  );
}

function Found({ q, onChoose }: { q: string; onChoose: (player_id: string) => void }) {
  return (
    <Answered asked={usePlayerSearch(q)} what={m.choose}>
      {({ data }) =>
        data.length === 0 ? (
          <p role="status">{m.nobody}</p>
        ) : (
          <ul className={css['found']} aria-label={m.choose}>
            {data.map(({ id, external_id, email, matched_by }) => (
              <li key={id}>
                <Button onClick={() => onChoose(id)}>
                  <bdi>{playerName({ external_id, email, id })}</bdi> {t.players.matchedBy(matched_by)}
                </Button>
              </li>
            ))}
          </ul>
        )
      }
    </Answered>
  );
}

function Reason({ segment: { id, definition }, player_id }: { segment: SegmentRecord; player_id: string }) {
  const sayer = useSayer();
  return (
    <Answered asked={useExplanation(id, player_id)} what={m.loading}>
      {({ data }) => {
        const nodes = new Map(data.nodes.map((node) => [node.path, node]));
        return (
          <>
            <Verdict explanation={data} player_id={player_id} />
            <ReadOnlyTree
              definition={definition}
              sayer={sayer}
              mark={(path) => <Mark holds={nodes.get(path)?.holds} />}
              note={(path) => <Note node={nodes.get(path)} />}
            />
          </>
        );
      }}
    </Answered>
  );
}

function Verdict({ explanation, player_id }: { explanation: Explanation; player_id: string }) {
  const { matches, is_member } = explanation;
  return (
    <div className={css['verdict']} role="status">
      <Id value={player_id} what={t.segments.player} />
      <Badge tone={matches ? 'good' : 'bad'}>{matches ? m.matches : m.matchesNot}</Badge>
      <Badge tone={is_member ? 'good' : 'neutral'}>{is_member ? m.member : m.memberNot}</Badge>
      {matches === is_member ? null : <span>{m.differs}</span>}
    </div>
  );
}

function Mark({ holds }: { holds: boolean | undefined }) {
  if (holds === undefined) return null;
  return <Badge tone={holds ? 'good' : 'bad'}>{holds ? m.holds : m.holdsNot}</Badge>;
}

function Note({ node }: { node: Explanation['nodes'][number] | undefined }) {
  if (node === undefined || !('value' in node)) return null;
  const { value } = node;
  return (
    <span className={css['soft']}>
      — <bdi>{value === null ? m.noValue : m.value(formatValue(value))}</bdi>
    </span>
  );
}
