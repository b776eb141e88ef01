import type { ApiError } from '@player-engagement/client/admin';
import { formatValue } from '../../format/value.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Buttons } from '../../ui/form.tsx';
import { Table } from '../../ui/table.tsx';
import { differencesOf } from './difference.ts';
import type { Draft } from './draft.ts';
import css from './journeys.module.css';
import type { JourneyRecord } from './queries.ts';
import { Part } from './versions.tsx';
import type { NameOf } from './words.ts';

interface BothProps {
  /** The refusal, with the record as it is now. */
  error: ApiError;
  mine: Draft;
  nameOf: NameOf;
  onMine: (etag: string | undefined) => void;
  onTheirs: (record: JourneyRecord, etag: string | undefined) => void;
}

/** Somebody else has saved the journey: where both sides differ, step by step, and which one counts. */
export function Both({ error, mine, nameOf, onMine, onTheirs }: BothProps) {
  const { current, etag } = error.details as { current?: JourneyRecord; etag?: string };
  if (current === undefined) return null;
  const renamed = current.name === mine.name ? [] : [{ name: current.name }];
  return (
    <div role="alert" className={css['note']}>
      <p>{t.form.conflict}</p>
      <Table
        label={t.form.conflict}
        head={[t.form.field, t.form.theirs, t.form.mine]}
        rows={[
          ...renamed.map(({ name }) => ({
            key: 'name',
            cells: [t.journeys.name, name, mine.name],
          })),
          ...differencesOf(current, mine).map((one, i) => ({
            key: String(i),
            cells: [
              <Part key="part" difference={one} nameOf={nameOf} />,
              <bdi key="theirs">{sideOf(one.kind === 'removed' ? one.node : one.before, one.before)}</bdi>,
              <bdi key="mine">{sideOf(one.kind === 'added' ? one.node : one.after, one.after)}</bdi>,
            ],
          })),
        ]}
      />
      <Buttons>
        <Button onClick={() => onTheirs(current, etag)}>{t.form.takeTheirs}</Button>
        <Button kind="danger" onClick={() => onMine(etag)}>
          {t.form.keepMine}
        </Button>
      </Buttons>
    </div>
  );
}

/** A whole step where one was added or removed, else the value of the field. */
function sideOf(step: unknown, value: unknown): string {
  const shown = value ?? step;
  return shown === undefined ? '—' : formatValue(shown).slice(0, 200);
}
