import type { ComponentProps, ReactNode } from 'react';
import css from './tabs.module.css';

type LinkProps = Pick<ComponentProps<'a'>, 'className' | 'children' | 'aria-current'>;

interface TabsProps<Key extends string> {
  label: string;
  tabs: readonly { key: Key; title: string }[];
  current: Key;
  /** Renders the link of a tab, so that the address names what is shown. */
  link: (key: Key, props: LinkProps) => ReactNode;
  children: ReactNode;
}

/** Parts of a screen, of which one is shown. They are links: a tab can be shared, and opened in a new window. */
export function Tabs<Key extends string>({ label, tabs, current, link, children }: TabsProps<Key>) {
  return (
    <>
      <nav className={css['tabs']} aria-label={label}>
        {tabs.map(({ key, title }) => (
          <span key={key}>
            {link(key, { children: title, ...(key === current ? { 'aria-current': 'page' } : {}) })}
          </span>
        ))}
      </nav>
      <div className={css['content']}>{children}</div>
    </>
  );
}
