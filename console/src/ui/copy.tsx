import { useState } from 'react';
import { t } from '../messages/t.ts';
import css from './copy.module.css';
import { Icon } from './icon.tsx';

const SHOWN_MS = 2_000;

/** A button that copies a text. `what` names it for screen readers. */
export function Copy({ text, what }: { text: string; what: string }) {
  const [done, setDone] = useState<'copied' | 'refused'>();
  const copy = async () => {
    // Browsers refuse when the page has no permission.
    const outcome = await navigator.clipboard.writeText(text).then(
      () => 'copied' as const,
      () => 'refused' as const,
    );
    setDone(outcome);
    setTimeout(() => setDone(undefined), SHOWN_MS);
  };
  const label = done === undefined ? t.copy.label(what) : t.copy[done];
  return (
    <button
      type="button"
      className={css['copy']}
      onClick={() => void copy()}
      aria-label={label}
      title={label}
    >
      <span aria-hidden="true">{done === 'copied' ? '✓' : <Icon name="copy" />}</span>
      <span role="status" className="heard">
        {done === undefined ? '' : label}
      </span>
    </button>
  );
}

/** An id in fixed-width type, shortened to its end, with a button that copies all of it. */
export function Id({ value, what }: { value: string; what: string }) {
  return (
    <span className={css['id']}>
      <code title={value}>{value.length > 13 ? `…${value.slice(-8)}` : value}</code>
      <Copy text={value} what={what} />
    </span>
  );
}
