import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState, type CSSProperties, type KeyboardEvent, type ReactNode } from 'react';
import { t } from '../messages/t.ts';
import { Button } from './button.tsx';
import css from './grid.module.css';
import { shortcutsAreOn } from './shortcuts.ts';

const ROW_PX = 32;
const OVERSCAN = 12;

/**
 * A column; `width` is a track of CSS grid. Its least width is a number: each row is a grid of its own, and rows are only
 * below their heads when no track depends on what is in it.
 */
export interface Column<Row> {
  key: string;
  title: string;
  width: `${number}px` | `minmax(${number}px, ${number}fr)`;
  /** Numbers and money are at the right. */
  align?: 'right';
  cell: (row: Row) => ReactNode;
}

interface GridProps<Row> {
  /** What is listed, for screen readers. */
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
  /** Opens a row: by click, Enter or `e`. */
  onOpen?: ((row: Row) => void) | undefined;
  /** Loads the next page; absent: all rows are there. */
  onMore?: (() => void) | undefined;
  is_loading_more?: boolean;
}

/** How far a key moves the focus; `first` and `last` jump. */
const MOVES: Readonly<Record<string, number | 'first' | 'last'>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 15,
  PageUp: -15,
  Home: 'first',
  End: 'last',
};
const LETTERS: Readonly<Record<string, number>> = { j: 1, k: -1 };

/**
 * A list in rows of 32 px, of which only the visible ones are in the page. One row at a time is in the order of the tab
 * key; arrows, `j` and `k` move, Enter and `e` open.
 */
export function Grid<Row>({ label, rows, columns, keyOf, onOpen, onMore, is_loading_more }: GridProps<Row>) {
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const moved = useRef(false);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
  });
  const current = Math.min(active, rows.length - 1);
  const items = virtual.getVirtualItems();
  useEffect(() => {
    if (!moved.current) return;
    const row = scroller.current?.querySelector<HTMLElement>(`[data-index="${current}"]`);
    if (row === null || row === undefined) return;
    row.focus({ preventScroll: true });
    moved.current = false;
  }, [current, items]);

  const move = (by: number | 'first' | 'last') => {
    const last = rows.length - 1;
    const next = by === 'first' ? 0 : by === 'last' ? last : Math.max(0, Math.min(last, current + by));
    moved.current = true;
    setActive(next);
    virtual.scrollToIndex(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // Keys of a control inside of a cell are the control's.
    if (!(event.target instanceof HTMLElement) || event.target.role !== 'row') return;
    const letter = shortcutsAreOn() ? LETTERS[event.key] : undefined;
    const by = MOVES[event.key] ?? letter;
    if (by !== undefined) {
      event.preventDefault();
      move(by);
      return;
    }
    const opens = event.key === 'Enter' || (event.key === 'e' && shortcutsAreOn());
    const row = rows[current];
    if (opens && row !== undefined && onOpen !== undefined) {
      event.preventDefault();
      onOpen(row);
    }
  };
  const tracks = { gridTemplateColumns: columns.map(({ width }) => width).join(' ') };
  const widths = {
    '--least': `${columns.reduce((sum, { width }) => sum + leastOf(width), 0)}px`,
    '--gaps': columns.length - 1,
  } as CSSProperties;
  return (
    <div className={css['frame']} style={widths}>
      <div
        ref={scroller}
        className={css['scroller']}
        role="grid"
        aria-label={label}
        aria-rowcount={onMore === undefined ? rows.length + 1 : -1}
        aria-colcount={columns.length}
        onKeyDown={onKeyDown}
      >
        <div role="rowgroup" className={css['head']}>
          <div role="row" aria-rowindex={1} className={css['row']} style={tracks}>
            {columns.map(({ key, title, align }) => (
              <div key={key} role="columnheader" className={align === 'right' ? css['right'] : undefined}>
                {title}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" className={css['body']} style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            return (
              <div
                key={keyOf(row)}
                role="row"
                aria-rowindex={item.index + 2}
                data-index={item.index}
                tabIndex={item.index === current ? 0 : -1}
                className={`${css['row']} ${onOpen === undefined ? '' : css['opens']}`}
                style={{ ...tracks, transform: `translateY(${item.start}px)` }}
                onFocus={() => setActive(item.index)}
                onClick={(event) => {
                  if (event.target instanceof Element && event.target.closest('a, button') !== null) return;
                  if (window.getSelection()?.isCollapsed !== false) onOpen?.(row);
                }}
              >
                {columns.map(({ key, align, cell }) => (
                  <div key={key} role="gridcell" className={align === 'right' ? css['right'] : undefined}>
                    {cell(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
      <div className={css['foot']}>
        <span>{t.grid.shown(rows.length, onMore !== undefined)}</span>
        {onMore === undefined ? null : (
          <Button kind="quiet" onClick={onMore} disabled={is_loading_more === true}>
            {is_loading_more === true ? t.grid.loadingMore : t.grid.more}
          </Button>
        )}
      </div>
    </div>
  );
}

/** The least width of a column in pixels. */
function leastOf(width: Column<never>['width']): number {
  return Number.parseFloat(width.replace('minmax(', ''));
}
