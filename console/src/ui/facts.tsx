import type { ReactNode } from 'react';
import css from './facts.module.css';

/** Names and values side by side; `large` for the figures that a page is about. */
export function Facts({
  label,
  facts,
  large = false,
}: {
  label: string;
  facts: readonly (readonly [name: string, value: ReactNode])[];
  large?: boolean;
}) {
  return (
    <dl className={`${css['facts']} ${large ? css['large'] : ''}`} aria-label={label}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
