import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { asWritten, parseExactly } from '../../api/json.ts';
import { newActionKey, useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { PlayerChoice } from '../../ui/player-choice.tsx';
import { Answered, Failed } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { graphOf, isObject, type Written } from './graph.ts';
import css from './journeys.module.css';
import { useNames, usesOf } from './names.ts';
import { useStats, type JourneyRecord } from './queries.ts';

const m = t.journeys.acts;
const SHOWN_NAME = 80;

export const shortName = (name: string) =>
  name.length > SHOWN_NAME ? `${name.slice(0, SHOWN_NAME)}…` : name;

export interface ActProps {
  journey: JourneyRecord;
  onClose: () => void;
}

/** Asks before the journey is paused: nothing starts runs, and with a hold runs stand still. */
export function Pause({ journey, onClose }: ActProps) {
  const { id } = journey;
  const [key] = useState(newActionKey);
  const [hold, setHold] = useState(false);
  const stats = useStats(id);
  const act = useChange('journeys.pause');
  return (
    <Confirm
      title={m.pauseTitle(shortName(journey.name))}
      verb={m.pause}
      busy={act.isPending}
      error={act.error}
      onClose={onClose}
      onConfirm={() => act.mutate({ inputs: [id, { hold }], idempotency_key: key }, { onSuccess: onClose })}
    >
      <p>{m.pauseText}</p>
      <Answered asked={stats} what={t.journeys.loadingStats}>
        {({ data }) => <p>{m.pauseRuns(data.runs.running)}</p>}
      </Answered>
      <label>
        <input type="checkbox" checked={hold} onChange={({ target }) => setHold(target.checked)} /> {m.hold}
      </label>
    </Confirm>
  );
}

interface Typed {
  /** The id of the player. */
  player: string | undefined;
  context: string;
  /** Of this player and context: others are another action, another try is the same one. */
  key: string;
}

/** Starts a run for one player, with a context. */
export function Trigger({ journey, onClose }: ActProps) {
  const { id } = journey;
  const navigate = useNavigate();
  const [typed, setTyped] = useState<Typed>(() => ({ player: undefined, context: '', key: newActionKey() }));
  const { player, context, key } = typed;
  const act = useChange('journeys.trigger');
  const read = contextOf(context);
  const run = act.data?.data;
  const change = (next: Partial<Typed>) => {
    act.reset();
    setTyped((before) => ({ ...before, ...next, key: newActionKey() }));
  };
  const start = () => {
    if (player === undefined || read === undefined) return;
    const body = { player_id: player, ...(read === null ? {} : { context: read }) };
    act.mutate({ inputs: [id, asWritten(body)], idempotency_key: key });
  };
  return (
    <Dialog
      title={m.triggerTitle(shortName(journey.name))}
      onClose={onClose}
      mayClose={() => !act.isPending}
      actions={
        <>
          <Button onClick={onClose}>{run === undefined ? t.confirm.cancel : t.dialog.close}</Button>
          {run === undefined ? (
            <Button
              kind="primary"
              disabled={player === undefined || read === undefined || act.isPending}
              onClick={start}
            >
              {act.isPending ? t.confirm.busy : m.trigger}
            </Button>
          ) : (
            <Button
              kind="primary"
              onClick={() => {
                onClose();
                void navigate({
                  to: '/journeys/$id',
                  params: { id },
                  search: (before) => ({ ...before, tab: 'runs', run: run.run_id }),
                });
              }}
            >
              {m.showRun}
            </Button>
          )}
        </>
      }
    >
      {run === undefined ? (
        <>
          <p>{m.triggerText}</p>
          <Form disabled={act.isPending}>
            <PlayerChoice
              label={t.journeys.runs.player}
              value={player}
              onChoose={(chosen) => change({ player: chosen })}
            />
            <Field
              label={m.context}
              hint={m.contextHint}
              error={read === undefined ? t.journeys.notJsonObject : undefined}
            >
              {(control) => (
                <textarea
                  {...control}
                  rows={4}
                  spellCheck={false}
                  value={context}
                  onChange={({ target }) => change({ context: target.value })}
                />
              )}
            </Field>
          </Form>
          {act.error === null ? null : <Failed error={act.error} />}
        </>
      ) : (
        <p role="status">{m.started}</p>
      )}
    </Dialog>
  );
}

/** The object that the text is; null: no text; undefined: something else. */
export function contextOf(text: string): Written | null | undefined {
  if (text.trim() === '') return null;
  try {
    const value = parseExactly(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Makes a draft with the trigger, the graph and the settings that the page shows, and opens it. */
export function Duplicate({ journey: { name, trigger, graph, settings } }: { journey: JourneyRecord }) {
  const navigate = useNavigate();
  const create = useChange('journeys.create');
  const body = { name: t.form.copyOf(name), trigger, graph, settings };
  const copy = () =>
    create.mutate(
      { inputs: [asWritten(body)] },
      {
        onSuccess: ({ data }) =>
          void navigate({
            to: '/journeys/$id',
            params: { id: data.id },
            search: ({ project }) => ({ project }),
          }),
      },
    );
  return (
    <>
      <Button onClick={copy} disabled={create.isPending}>
        {t.form.duplicate}
      </Button>
      {create.error === null ? null : <Failed error={create.error} />}
    </>
  );
}

/** Asks before the journey is deleted: how many runs are cancelled, and what it uses. */
export function Archive({ journey, onClose }: ActProps) {
  const { id } = journey;
  const name = shortName(journey.name);
  const navigate = useNavigate();
  const [key] = useState(newActionKey);
  const stats = useStats(id);
  const act = useChange('journeys.delete');
  const running = stats.data?.data.runs.running;
  return (
    <Confirm
      title={m.archiveTitle(name)}
      verb={m.archiveVerb(name)}
      count={running ?? 0}
      busy={act.isPending}
      ready={running !== undefined}
      error={act.error}
      onClose={onClose}
      onConfirm={() =>
        // The page knows at once that it is deleted, and this dialog goes with its button.
        void act.mutateAsync({ inputs: [id], idempotency_key: key }).then(
          () => navigate({ to: '/journeys' }),
          // Shown by the dialog.
          () => undefined,
        )
      }
    >
      <p>{m.archiveText}</p>
      <Answered asked={stats} what={t.journeys.loadingStats}>
        {({ data }) => <p>{m.archiveRuns(data.runs.running)}</p>}
      </Answered>
      <p>{m.archiveUses}</p>
      <Uses journey={journey} />
    </Confirm>
  );
}

/** The templates, providers, segments, bonuses and webhooks of a journey. */
export function Uses({ journey: { trigger, graph, settings } }: { journey: JourneyRecord }) {
  const drawn = graphOf(graph);
  const nameOf = useNames(trigger, drawn, settings);
  const uses = usesOf(trigger, drawn, settings);
  if (uses.length === 0) return <p className={css['soft']}>{m.usesNothing}</p>;
  return (
    <Table
      label={m.activateUses}
      head={[t.journeys.kind, t.journeys.name]}
      rows={uses.map(({ kind, id }) => ({
        key: `${kind} ${id}`,
        cells: [t.journeys.uses[kind], <bdi key="name">{nameOf(id)}</bdi>],
      }))}
    />
  );
}
