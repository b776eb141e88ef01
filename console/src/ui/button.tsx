import type { ComponentPropsWithRef } from 'react';
import css from './button.module.css';

type Kind = 'plain' | 'primary' | 'danger' | 'quiet';

/** A button. `primary`: the one next step of its page or dialog; `danger`: cannot be undone. */
export function Button({
  kind = 'plain',
  className,
  ...rest
}: ComponentPropsWithRef<'button'> & { kind?: Kind }) {
  const names = [css['button'], css[kind], className].filter((name) => name !== undefined);
  return <button type="button" {...rest} className={names.join(' ')} />;
}
