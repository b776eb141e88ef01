import { useState } from 'react';
import { parseExactly, writeExactly } from '../../api/json.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import css from './builder.module.css';
import { differing, type Fields } from './draft.ts';

const m = t.segments;

/** The whole definition as text. What is not JSON is not applied, and not thrown away by a single Escape. */
export function JsonDialog({
  text,
  onApply,
  onClose,
}: {
  text: string;
  onApply: (definition: unknown) => void;
  onClose: () => void;
}) {
  const [typed, setTyped] = useState(text);
  const [problem, setProblem] = useState<string>();
  const [warned, setWarned] = useState(false);
  const apply = () => {
    let definition: unknown;
    try {
      definition = parseExactly(typed);
    } catch {
      setProblem(m.build.notJson);
      return;
    }
    onApply(definition);
    onClose();
  };
  const mayClose = () => {
    if (typed === text || warned) return true;
    setWarned(true);
    return false;
  };
  return (
    <Dialog
      title={m.size.jsonTitle}
      onClose={onClose}
      mayClose={mayClose}
      as="drawer"
      actions={
        <Button kind="primary" onClick={apply}>
          {m.size.applyJson}
        </Button>
      }
    >
      <textarea
        aria-label={m.size.jsonTitle}
        className={css['whole']}
        spellCheck={false}
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value);
          setProblem(undefined);
        }}
      />
      {problem === undefined ? null : <p role="alert">{problem}</p>}
      {warned ? <p role="alert">{m.size.discardJson}</p> : null}
    </Dialog>
  );
}

/** Asks before unsaved work is left. */
export function LeaveDialog({ onStay, onLeave }: { onStay: () => void; onLeave: () => void }) {
  return (
    <Dialog
      title={m.leave.title}
      onClose={onStay}
      actions={
        <>
          <Button onClick={onStay}>{m.leave.stay}</Button>
          <Button kind="danger" onClick={onLeave}>
            {m.leave.leave}
          </Button>
        </>
      }
    >
      <p>{m.leave.text}</p>
    </Dialog>
  );
}

/** Somebody else has saved meanwhile: both versions, field by field. */
export function ConflictDialog({
  mine,
  theirs,
  onKeepMine,
  onTakeTheirs,
  onClose,
}: {
  mine: Fields;
  theirs: Fields;
  onKeepMine: () => void;
  onTakeTheirs: () => void;
  onClose: () => void;
}) {
  const shown = (value: unknown) => (typeof value === 'string' ? value : writeExactly(value, 2));
  return (
    <Dialog
      title={m.conflict.title}
      onClose={onClose}
      as="drawer"
      actions={
        <>
          <Button onClick={onTakeTheirs}>{m.conflict.takeTheirs}</Button>
          <Button kind="danger" onClick={onKeepMine}>
            {m.conflict.keepMine}
          </Button>
        </>
      }
    >
      <p>{m.conflict.text}</p>
      <table className={css['versions']}>
        <thead>
          <tr>
            <th scope="col">{m.conflict.field}</th>
            <th scope="col">{m.conflict.mine}</th>
            <th scope="col">{m.conflict.theirs}</th>
          </tr>
        </thead>
        <tbody>
          {differing(mine, theirs).map((key) => (
            <tr key={key}>
              <th scope="row">{m.words.fields(key)}</th>
              <td>{shown(mine[key])}</td>
              <td>{shown(theirs[key])}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
