import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { oneOf } from '../../api/choices.ts';
import { useMayEdit } from '../../api/place.tsx';
import { useChange, useKeyOf } from '../../api/queries.ts';
import { playerName } from '../../format/mask.ts';
import { t } from '../../messages/t.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Choose } from '../../ui/choose.tsx';
import { Field } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import type { Column } from '../../ui/grid.tsx';
import { HarmWarning } from '../../ui/harm-warning.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { Export } from './export.tsx';
import { figureOf, type Unit, type Writer } from './figures.ts';
import css from './insights.module.css';
import { useFigurePlayers, type FigurePlayer, type Protection, type SavedSegment } from './queries.ts';
import type { InsightQuery } from './query.ts';

const m = t.insights.players;

interface PlayersProps {
  query: InsightQuery;
  cell: object;
  /** What the figure is. */
  name: string;
  /** How what each player adds is written. */
  unit: Unit;
  writer: Writer;
  onClose: () => void;
}

/** The players behind a figure, with what each adds to it, the largest first. */
export function Players({ query, cell, name, unit, writer, onClose }: PlayersProps) {
  const navigate = useNavigate();
  const pages = useFigurePlayers(query, cell);
  const may_edit = useMayEdit();
  const [saves, setSaves] = useState(false);
  const [exports, setExports] = useState(false);
  const columns: Column<FigurePlayer>[] = [
    {
      key: 'player',
      title: m.player,
      width: 'minmax(200px, 2fr)',
      cell: (row) => <bdi>{playerName(row)}</bdi>,
    },
    {
      key: 'value',
      title: m.value,
      width: 'minmax(100px, 1fr)',
      align: 'right',
      cell: ({ value }) => figureOf(value, unit, writer)?.text ?? '—',
    },
  ];
  return (
    <Dialog
      as="drawer"
      title={m.title(name)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t.dialog.close}</Button>
          {may_edit && (pages.rows?.length ?? 0) > 0 ? (
            <Button onClick={() => setExports(true)}>{t.insights.exports.open}</Button>
          ) : null}
          {may_edit && (pages.rows?.length ?? 0) > 0 ? (
            <Button kind="primary" onClick={() => setSaves(true)}>
              {m.save}
            </Button>
          ) : null}
        </>
      }
    >
      <LeftAlone counts={pages.data?.pages[0]?.data.protection} />
      <p className={css['soft']}>{m.help}</p>
      <div className={css['list']}>
        <Listed
          pages={pages}
          label={m.title(name)}
          columns={columns}
          keyOf={({ id }) => id}
          onOpen={({ id }) => void navigate({ to: '/players/$id', params: { id } })}
          empty={<Empty title={m.none} />}
        />
      </div>
      {exports ? <Export query={query} cell={cell} onClose={() => setExports(false)} /> : null}
      {saves ? <Save query={query} cell={cell} name={name} onClose={() => setSaves(false)} /> : null}
    </Dialog>
  );
}

/** How many of the players must be left alone, before anybody is listed. */
function LeftAlone({ counts }: { counts: Protection | undefined }) {
  if (counts === undefined || counts.players === 0) return null;
  const { players, asked, at_risk } = counts;
  return (
    <section aria-label={m.left.title} className={css['left']}>
      <p>{asked === players ? m.left.ofAll(players) : m.left.ofSome(asked, players)}</p>
      <p>
        <Badge tone={counts.protected > 0 ? 'shield' : 'neutral'}>{m.left.protected(counts.protected)}</Badge>{' '}
        <span className={css['soft']}>{m.left.protectedHelp}</span>
      </p>
      <p>
        <Badge tone={at_risk > 0 ? 'warn' : 'neutral'}>{m.left.atRisk(at_risk)}</Badge>{' '}
        <span className={css['soft']}>{m.left.atRiskHelp}</span>
      </p>
    </section>
  );
}

const AS = ['live', 'frozen'] as const;

/** Makes a segment of the players, and goes to it: who they are then, or as they are now. */
function Save({ query, cell, name, onClose }: Pick<PlayersProps, 'query' | 'cell' | 'name' | 'onClose'>) {
  const navigate = useNavigate();
  const save = useChange('insights.segment');
  const keyOf = useKeyOf();
  // Only figures over time can be said in the language of segments.
  const kinds = query.kind === 'trend' ? AS : (['frozen'] as const);
  const [fields, setFields] = useState({ name, as: kinds[0] });
  const open = (id: string) => void navigate({ to: '/segments/$id', params: { id } });
  const run = () => {
    save.mutate(
      { inputs: [{ query, cell: { ...cell }, ...fields }], idempotency_key: keyOf(fields) },
      {
        onSuccess: ({ data: { id, warnings } }) => {
          if (warnings.length === 0) open(id);
        },
      },
    );
  };
  const made = save.data?.data;
  if (made !== undefined && made.warnings.length > 0)
    return <Saved segment={made} onOpen={open} onClose={onClose} />;
  return (
    <ActDialog
      title={m.save}
      verb={m.save}
      busy={save.isPending}
      ready={fields.name.trim() !== ''}
      error={save.error}
      onAct={run}
      onClose={onClose}
    >
      <Form disabled={save.isPending}>
        <Field label={m.name}>
          {(control) => (
            <input
              {...control}
              value={fields.name}
              maxLength={200}
              autoComplete="off"
              onChange={({ target }) => setFields({ ...fields, name: target.value })}
            />
          )}
        </Field>
        <Choose
          label={m.as}
          hint={m.asHints[fields.as]}
          options={kinds.map((one) => ({ value: one, label: m.asOf[one] }))}
          value={fields.as}
          onChange={(chosen) => setFields({ ...fields, as: oneOf(AS, chosen) ?? 'frozen' })}
        />
      </Form>
    </ActDialog>
  );
}

interface SavedProps {
  segment: SavedSegment;
  onOpen: (id: string) => void;
  onClose: () => void;
}

/** A segment that was made, with the signs of harm by which it selects players. */
function Saved({ segment: { id, name, warnings }, onOpen, onClose }: SavedProps) {
  return (
    <Dialog
      title={m.savedAs(name)}
      onClose={onClose}
      first="button"
      actions={
        <>
          <Button onClick={onClose}>{t.dialog.close}</Button>
          <Button kind="primary" onClick={() => onOpen(id)}>
            {m.open}
          </Button>
        </>
      }
    >
      <div role="status" className={css['part']}>
        <p>{m.harm}</p>
        {warnings.map(({ path, code, message }) => (
          <HarmWarning key={`${path} ${code}`} code={code} message={message} />
        ))}
      </div>
    </Dialog>
  );
}
