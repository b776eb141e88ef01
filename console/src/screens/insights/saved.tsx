import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useMayEdit } from '../../api/place.tsx';
import { writeExactly } from '../../api/json.ts';
import { useChange, useKeyOf, useRead, useSave } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Field } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Answered, Failed } from '../../ui/states.tsx';
import css from './insights.module.css';
import { useDashboards, useSavedInsights, type SavedInsight } from './queries.ts';
import { queryIn, type InsightQuery } from './query.ts';

const route = getRouteApi('/insights');
const m = t.insights;

/** A list whose pages are read one after the other, as one question. */
function wholeOf<Row>({
  rows,
  ...asked
}: { rows: Row[] | undefined } & Omit<Parameters<typeof Answered>[0]['asked'], 'data'>) {
  return { ...asked, data: rows };
}

/** The dashboards of the project, and a new one. */
export function Dashboards() {
  const asked = useDashboards();
  const may_edit = useMayEdit();
  const [creates, setCreates] = useState(false);
  return (
    <section className={css['part']} aria-label={m.boards.title}>
      <h2>{m.boards.title}</h2>
      <Answered asked={wholeOf(asked)} what={m.boards.title}>
        {(rows) =>
          rows.length === 0 ? (
            <p className={css['soft']}>{m.boards.none}</p>
          ) : (
            <ul className={css['saved']}>
              {rows.map(({ id, name }) => (
                <li key={id}>
                  <Link to="/insights" search={({ project }) => ({ project, board: id })}>
                    <bdi>{name}</bdi>
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Answered>
      {may_edit ? (
        <div>
          <Button onClick={() => setCreates(true)}>{m.boards.create}</Button>
        </div>
      ) : null}
      {creates ? <NewBoard onClose={() => setCreates(false)} /> : null}
    </section>
  );
}

function NewBoard({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate({ from: '/insights' });
  const keyOf = useKeyOf();
  const create = useChange('dashboards.create');
  return (
    <NameDialog
      title={m.boards.create}
      label={m.boards.name}
      change={create}
      onName={(name) =>
        create.mutate(
          { inputs: [{ name }], idempotency_key: keyOf(name) },
          {
            onSuccess: ({ data: { id } }) =>
              void navigate({ search: ({ project }) => ({ project, board: id }) }),
          },
        )
      }
      onClose={onClose}
    />
  );
}

/** Asks for the name of something new. */
function NameDialog({
  title,
  label,
  change: { isPending, error },
  onName,
  onClose,
}: {
  title: string;
  label: string;
  change: Pick<ReturnType<typeof useChange>, 'isPending' | 'error'>;
  onName: (name: string) => void;
  onClose: () => void;
}) {
  const [name, setName] = useState('');
  return (
    <ActDialog
      title={title}
      verb={t.form.save}
      busy={isPending}
      ready={name.trim() !== ''}
      error={error}
      onAct={() => onName(name)}
      onClose={onClose}
    >
      <Form disabled={isPending}>
        <Field label={label}>
          {(control) => (
            <input
              {...control}
              value={name}
              maxLength={200}
              autoComplete="off"
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
      </Form>
    </ActDialog>
  );
}

/** The insights that were saved: each opens its question. */
export function SavedInsights() {
  const asked = useSavedInsights();
  const may_edit = useMayEdit();
  const [removed, setRemoved] = useState<SavedInsight>();
  return (
    <section className={css['part']} aria-label={m.saved.title}>
      <h2>{m.saved.title}</h2>
      <Answered asked={wholeOf(asked)} what={m.saved.title}>
        {(rows) =>
          rows.length === 0 ? (
            <p className={css['soft']}>{m.saved.none}</p>
          ) : (
            <ul className={css['saved']}>
              {rows.map((one) => (
                <li key={one.id}>
                  <InsightLink insight={one} />{' '}
                  {may_edit ? (
                    <Button
                      kind="quiet"
                      onClick={() => setRemoved(one)}
                      aria-label={m.saved.delete(one.name)}
                    >
                      ✕
                    </Button>
                  ) : null}
                </li>
              ))}
            </ul>
          )
        }
      </Answered>
      {removed === undefined ? null : <Remove insight={removed} onClose={() => setRemoved(undefined)} />}
    </section>
  );
}

/** Opens the question of a saved insight, where it can be changed. */
export function InsightLink({ insight: { id, name, query } }: { insight: SavedInsight }) {
  return (
    <Link to="/insights" search={({ project }) => ({ project, q: query, saved: id })}>
      <bdi>{name}</bdi>
    </Link>
  );
}

function Remove({ insight: { id, name }, onClose }: { insight: SavedInsight; onClose: () => void }) {
  const remove = useChange('insights.delete');
  return (
    <Confirm
      title={m.saved.delete(name)}
      verb={m.saved.delete(name)}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ inputs: [id] }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>{m.saved.deleteHelp}</p>
    </Confirm>
  );
}

/** Saves the question of the address: as a new insight, or as the change of the one that was opened. */
export function SaveInsight({ query }: { query: InsightQuery }) {
  const { saved } = route.useSearch();
  const navigate = useNavigate({ from: '/insights' });
  const save = useSave('insights.create', 'insights.update');
  const [names, setNames] = useState(false);
  const keyOf = useKeyOf();
  const { data: answer } = useRead('insights.get', [saved ?? ''], { enabled: saved !== undefined });
  const opened = answer?.data;
  /** As it was stored, with the defaults of its kind: only so can it be compared with what is saved. */
  const show = ({ data: { id, query: stored } }: { data: SavedInsight }) =>
    void navigate({ search: (before) => ({ ...before, q: stored, saved: id }), replace: true });
  const is_changed = opened !== undefined && writeExactly(queryIn(opened.query)) !== writeExactly(query);
  return (
    <>
      {is_changed ? (
        <Button
          kind="primary"
          disabled={save.isPending}
          onClick={() =>
            save.mutate({ update: [opened.id, { query }], if_match: answer?.etag }, { onSuccess: show })
          }
        >
          {m.saved.update(opened.name)}
        </Button>
      ) : null}
      <Button onClick={() => setNames(true)}>{opened === undefined ? m.saved.save : m.saved.saveAs}</Button>
      {save.error === null || names ? null : <Failed error={save.error} />}
      {names ? (
        <NameDialog
          title={m.saved.save}
          label={m.saved.name}
          change={save}
          onName={(name) =>
            save.mutate(
              { create: [{ name, query }], idempotency_key: keyOf([name, query]) },
              {
                onSuccess: (made) => {
                  setNames(false);
                  show(made);
                },
              },
            )
          }
          onClose={() => setNames(false)}
        />
      ) : null}
    </>
  );
}
