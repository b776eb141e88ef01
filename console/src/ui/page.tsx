import { useEffect, type ReactNode } from 'react';
import css from './page.module.css';

/**
 * A screen: its heading, which is also the title of the window, what can be done at the right, and the content. `window`
 * is the title of the window where the heading may have something personal.
 */
export function Page({
  title,
  window = title,
  actions,
  children,
}: {
  title: string;
  window?: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${window} · Console`;
  }, [window]);
  return (
    <>
      <div className={css['head']}>
        <h1>{title}</h1>
        <div className={css['actions']}>{actions}</div>
      </div>
      {children}
    </>
  );
}
