import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { Button } from './button.tsx';
import css from './menu.module.css';

/** One entry of a menu; `checked` makes it one of a choice. */
export interface MenuItem {
  key: string;
  label: string;
  checked?: boolean;
  run: () => void;
}

/** A button that opens a menu, in the browser's own top layer. Arrows move, Escape closes. */
export function Menu({
  label,
  button,
  items,
}: {
  label: string;
  button: ReactNode;
  items: readonly MenuItem[];
}) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const menu = list.current;
    if (menu === null) return undefined;
    if (!open) {
      if (menu.matches(':popover-open')) menu.hidePopover();
      return undefined;
    }
    menu.showPopover();
    place(menu, opener.current);
    (
      menu.querySelector<HTMLElement>('[aria-checked="true"]') ?? menu.querySelector<HTMLElement>('button')
    )?.focus();
    return undefined;
  }, [open]);
  const onKeyDown = (event: KeyboardEvent) => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>('button') ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to: Readonly<Record<string, number>> = {
      ArrowDown: (at + 1) % all.length,
      ArrowUp: (at - 1 + all.length) % all.length,
      Home: 0,
      End: all.length - 1,
    };
    const next = to[event.key];
    if (next !== undefined) {
      event.preventDefault();
      all[next]?.focus();
    } else if (event.key === 'Tab') setOpen(false);
  };
  return (
    <>
      <Button
        kind="quiet"
        ref={opener}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        <span className="heard">{`${label}: `}</span>
        {button}
      </Button>
      <div
        ref={list}
        id={id}
        role="menu"
        aria-label={label}
        popover="auto"
        className={css['menu']}
        onKeyDown={onKeyDown}
        onToggle={(event) => {
          if (event.newState === 'open') return;
          setOpen(false);
          if (document.activeElement === document.body) opener.current?.focus();
        }}
      >
        {items.map(({ key, label: text, checked, run }) => (
          <button
            key={key}
            type="button"
            tabIndex={-1}
            role={checked === undefined ? 'menuitem' : 'menuitemradio'}
            aria-checked={checked}
            onClick={() => {
              setOpen(false);
              opener.current?.focus();
              run();
            }}
          >
            <span aria-hidden="true">{checked === true ? '✓' : ''}</span> {text}
          </button>
        ))}
      </div>
    </>
  );
}

/** Below its button, within the window. */
function place(menu: HTMLElement, button: HTMLElement | null): void {
  const { bottom = 0, left = 0 } = button?.getBoundingClientRect() ?? {};
  menu.style.top = `${Math.max(8, Math.min(bottom + 4, window.innerHeight - menu.offsetHeight - 8))}px`;
  menu.style.left = `${Math.max(8, Math.min(left, window.innerWidth - 280))}px`;
}
