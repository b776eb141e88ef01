import type { ApiError } from '@player-engagement/client/admin';
import { valueAt } from '../format/record-texts.ts';
import { formatValue } from '../format/value.ts';
import { t } from '../messages/t.ts';
import { Button } from './button.tsx';
import { Buttons } from './form.tsx';
import { Failed } from './states.tsx';
import css from './states.module.css';
import { Table } from './table.tsx';

/** Whether a change was refused because somebody else has saved the record meanwhile. */
export function isConflict(error: ApiError | null): error is ApiError {
  return error?.code === 'PRECONDITION_FAILED';
}

interface ConflictProps {
  error: ApiError;
  /** What was typed here, by field; a field inside of another by its path: `config.amount`. */
  changes: Readonly<Record<string, unknown>>;
  /** Saves it over the version of the tag. */
  onMine: (etag: string | undefined) => void;
  onTheirs: () => void;
  /** What the button says when saving over it does more than that; absent: that mine is kept. */
  verb?: string | undefined;
}

/** Shows both sides of a record that two people have changed, and asks which one counts. */
export function Conflict({ error, changes, onMine, onTheirs, verb = t.form.keepMine }: ConflictProps) {
  const { current, etag } = error.details as { current?: Record<string, unknown>; etag?: string };
  return (
    <div role="alert" className={css['stale']}>
      <p>{t.form.conflict}</p>
      <Table
        label={t.form.conflict}
        head={[t.form.field, t.form.mine, t.form.theirs]}
        rows={Object.entries(changes).map(([field, value]) => ({
          key: field,
          cells: [
            <code key="field">{field}</code>,
            <bdi key="mine">{formatValue(value).slice(0, 100)}</bdi>,
            <bdi key="theirs">{formatValue(valueAt(current, field) ?? null).slice(0, 100)}</bdi>,
          ],
        }))}
      />
      <Buttons>
        <Button onClick={onTheirs}>{t.form.takeTheirs}</Button>
        <Button kind="danger" onClick={() => onMine(etag)}>
          {verb}
        </Button>
      </Buttons>
    </div>
  );
}

interface SaveFailureProps extends Omit<ConflictProps, 'error' | 'onTheirs'> {
  save: { error: ApiError | null; reset: () => void };
  /** Forgets what was typed. */
  forget: () => void;
}

/** Why a record was not saved, if it was not: both sides where somebody else has saved it meanwhile. */
export function SaveFailure({ save, forget, ...rest }: SaveFailureProps) {
  const { error } = save;
  if (error === null) return null;
  if (!isConflict(error)) return <Failed error={error} />;
  const takeTheirs = () => {
    forget();
    save.reset();
  };
  return <Conflict error={error} {...rest} onTheirs={takeTheirs} />;
}
