import { useEffect, type ReactNode } from 'react';
import css from './page.module.css';

/** A screen: its heading, which is also the title of the window, what can be done at the right, and the content. */
export function Page({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Console`;
  }, [title]);
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
