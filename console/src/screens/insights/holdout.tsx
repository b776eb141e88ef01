import type { GlobalHoldout, HoldoutRound } from '@player-engagement/client/admin';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { usePlace } from '../../api/place.tsx';
import { useChange, useRead } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { formatPercent } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Button } from '../../ui/button.tsx';
import { Effect } from '../../ui/effect.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Field } from '../../ui/field.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import css from './insights.module.css';

const route = getRouteApi('/insights/holdout');
const m = t.insights.holdout;
const MOST_PERCENT = 10;

/** The holdout of the project: whom nothing is sent, and what everything that is sent adds; or the past round of the address. */
export function Holdout() {
  const { round } = route.useSearch();
  return round === undefined ? <Present /> : <Past key={round} name={round} />;
}

function Present() {
  const asked = useRead('experiments.global.get', [{}]);
  const may_set = roleAllows(usePlace().role, 'admin');
  const [changes, setChanges] = useState(false);
  const held = asked.data?.data;
  return (
    <Page
      title={m.title}
      actions={
        may_set && held !== undefined ? <Button onClick={() => setChanges(true)}>{m.change}</Button> : null
      }
    >
      <p>{m.help}</p>
      <Answered asked={asked} what={m.title}>
        {({ data: { holdout_percent, round, rounds, uplift } }) => (
          <>
            <Facts
              label={m.title}
              facts={[
                [m.share, formatPercent(holdout_percent / 100)],
                [m.begins, <Time key="begins" at={round?.begins_at ?? null} />],
                [m.ends, <Time key="ends" at={round?.ends_at ?? null} />],
              ]}
            />
            {uplift === null ? (
              <Empty title={t.effect.none} />
            ) : (
              <Effect asked={{ ...asked, data: { data: uplift } }} />
            )}
            <Rounds rounds={rounds} />
          </>
        )}
      </Answered>
      {changes && held !== undefined ? <Change held={held} onClose={() => setChanges(false)} /> : null}
    </Page>
  );
}

/** A round that is over, and what everything that was sent in it has added. */
function Past({ name }: { name: string }) {
  const asked = useRead('experiments.global.get', [{ round: name }]);
  return (
    <Page
      title={m.ofRound(name)}
      actions={
        <Link to="/insights/holdout" search={({ project }) => ({ project })}>
          {m.toPresent}
        </Link>
      }
    >
      <Answered asked={asked} what={m.ofRound(name)}>
        {({ data: { rounds, uplift } }) => (
          <>
            {rounds
              .filter((one) => one.name === name)
              .map(({ begins_at, ends_at, holdout_percent }) => (
                <Facts
                  key={name}
                  label={m.ofRound(name)}
                  facts={[
                    [m.share, formatPercent(holdout_percent / 100)],
                    [m.began, <Time key="begins" at={begins_at} />],
                    [m.ended, <Time key="ends" at={ends_at} />],
                  ]}
                />
              ))}
            {uplift === null ? (
              <Empty title={t.effect.none} />
            ) : (
              <Effect asked={{ ...asked, data: { data: uplift } }} />
            )}
            <Rounds rounds={rounds} />
          </>
        )}
      </Answered>
    </Page>
  );
}

/** The rounds that are over; each opens its effect. */
function Rounds({ rounds }: { rounds: readonly HoldoutRound[] }) {
  return (
    <section className={css['part']} aria-label={m.rounds}>
      <h2>{m.rounds}</h2>
      {rounds.length === 0 ? (
        <p>{m.noRounds}</p>
      ) : (
        <>
          <p className={css['soft']}>{m.roundsHelp}</p>
          <Table
            label={m.rounds}
            head={[m.round, m.began, m.ended, m.share]}
            rows={rounds.map(({ name, begins_at, ends_at, holdout_percent }) => ({
              key: name,
              cells: [
                <Link key="name" to="/insights/holdout" search={(before) => ({ ...before, round: name })}>
                  {name}
                </Link>,
                <Time key="begins" at={begins_at} />,
                <Time key="ends" at={ends_at} />,
                formatPercent(holdout_percent / 100),
              ],
            }))}
          />
        </>
      )}
    </section>
  );
}

function Change({ held, onClose }: { held: GlobalHoldout; onClose: () => void }) {
  const save = useChange('experiments.global.set');
  const [text, setText] = useState(String(held.holdout_percent));
  const percent = Number(text);
  const is_ready = text.trim() !== '' && percent >= 0 && percent <= MOST_PERCENT;
  return (
    <ActDialog
      title={m.change}
      verb={t.form.save}
      busy={save.isPending}
      ready={is_ready && percent !== held.holdout_percent}
      error={save.error}
      onAct={() => save.mutate({ inputs: [{ holdout_percent: percent }] }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <Field label={t.effect.holdoutPercent} hint={m.changeHint}>
        {(control) => (
          <input
            {...control}
            type="number"
            min={0}
            max={MOST_PERCENT}
            step="any"
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </Field>
    </ActDialog>
  );
}
