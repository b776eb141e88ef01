import { useId, useRef, useState } from 'react';
import { t } from '../messages/t.ts';
import { Button } from './button.tsx';
import css from './code.module.css';

/** What is wrong in a text; null: nobody knows where. */
export interface CodeIssue {
  message: string;
  line: number | null;
  column: number | null;
}

interface CodeProps {
  label: string;
  value: string;
  issues: readonly CodeIssue[];
  disabled?: boolean;
  onChange: (value: string) => void;
}

/** More lines than this are numbered as they are scrolled to, in no browser's favour: they are not numbered at all. */
const MAX_NUMBERED = 2_000;

/** A field for text with line numbers. A line in which something is wrong is marked, and can be gone to. */
export function Code({ label, value, issues, disabled = false, onChange }: CodeProps) {
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const [scrolled, setScrolled] = useState(0);
  const lines = value.split('\n').length;
  const wrong = new Set(issues.map(({ line }) => line));
  const goTo = (line: number) => {
    const at = value.split('\n');
    const start = at.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    field.current?.focus();
    field.current?.setSelectionRange(start, start + (at[line - 1]?.length ?? 0));
  };
  return (
    <div className={css['code']}>
      <label htmlFor={id}>{label}</label>
      <div className={css['frame']}>
        <div className={css['numbers']} aria-hidden="true">
          <div style={{ transform: `translateY(${-scrolled}px)` }}>
            {Array.from({ length: Math.min(lines, MAX_NUMBERED) }, (_, i) => (
              <div key={i} className={wrong.has(i + 1) ? css['wrong'] : undefined}>
                {i + 1}
              </div>
            ))}
          </div>
        </div>
        <textarea
          ref={field}
          id={id}
          wrap="off"
          spellCheck={false}
          disabled={disabled}
          aria-invalid={issues.length > 0}
          aria-describedby={`${id}-issues`}
          value={value}
          onChange={({ target }) => onChange(target.value)}
          onScroll={({ currentTarget }) => setScrolled(currentTarget.scrollTop)}
        />
      </div>
      <ul id={`${id}-issues`} className={css['issues']} role="alert">
        {issues.map(({ message, line, column }) => (
          <li key={`${line} ${column} ${message}`}>
            {line === null ? null : (
              <Button kind="quiet" onClick={() => goTo(line)}>
                {t.code.line(line, column)}
              </Button>
            )}
            {message}
          </li>
        ))}
      </ul>
    </div>
  );
}
