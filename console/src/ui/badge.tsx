import type { ReactNode } from 'react';
import css from './badge.module.css';
import { Icon } from './icon.tsx';

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'shield' | 'accent';

const MARKS: Readonly<Record<Tone, ReactNode>> = {
  neutral: '○',
  good: '✓',
  warn: '!',
  bad: '✕',
  shield: <Icon name="shield" />,
  accent: '●',
};

/** A status: a word, a colour and a mark, so that the colour is never needed to tell. */
export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className={`${css['badge']} ${css[tone]}`}>
      <span aria-hidden="true">{MARKS[tone]}</span> {children}
    </span>
  );
}
