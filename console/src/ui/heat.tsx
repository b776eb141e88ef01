import { useRef, useState, type KeyboardEvent } from 'react';
import { t } from '../messages/t.ts';
import { Button } from './button.tsx';
import { downloadCsv } from './csv.ts';
import css from './heat.module.css';

export interface HeatCell {
  text: string;
  /** For spreadsheets: a plain number. */
  figure: string;
  /** How strongly it is coloured, from 0 to 1. */
  strength: number;
  /** Opens what is behind it. */
  onOpen: (() => void) | undefined;
}

export interface HeatRow {
  key: string;
  label: string;
  /** Null: there is no figure yet. */
  cells: readonly (HeatCell | null)[];
}

interface HeatProps {
  title: string;
  /** The heads of all columns, that of the labels first. */
  head: readonly string[];
  rows: readonly HeatRow[];
}

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/**
 * A table whose cells are the more coloured the more they are. One cell at a time is in the order of the tab key; arrows move,
 * Enter opens.
 */
export function Heat({ title, head, rows }: HeatProps) {
  const table = useRef<HTMLTableElement>(null);
  const [[row, column], setActive] = useState<readonly [number, number]>([0, 0]);
  const width = head.length - 1;
  const csv = () =>
    downloadCsv(title, [
      head,
      ...rows.map(({ label, cells }) => [label, ...cells.map((one) => one?.figure ?? '')]),
    ]);
  const onKeyDown = (event: KeyboardEvent) => {
    const open = rows[row]?.cells[column]?.onOpen;
    const [down, right] = MOVES[event.key] ?? [];
    if (down !== undefined && right !== undefined) {
      const next = [clamp(row + down, rows.length), clamp(column + right, width)] as const;
      setActive(next);
      table.current?.querySelector<HTMLElement>(`[data-cell="${next.join()}"]`)?.focus();
    } else if (event.key === 'Enter' && open !== undefined) open();
    else return;
    event.preventDefault();
  };
  return (
    <section className={css['frame']} aria-label={title}>
      <header>
        <h2>{title}</h2>
        <Button kind="quiet" onClick={csv}>
          {t.chart.csv}
        </Button>
      </header>
      <div className={css['scroller']}>
        <table ref={table} role="grid" aria-label={title} onKeyDown={onKeyDown}>
          <thead>
            <tr>
              {head.map((one) => (
                <th key={one} scope="col">
                  {one}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ key, label, cells }, i) => (
              <tr key={key}>
                <th scope="row">{label}</th>
                {Array.from({ length: width }, (_, j) => {
                  const cell = cells[j];
                  return (
                    <td
                      key={head[j + 1]}
                      data-cell={`${i},${j}`}
                      tabIndex={i === row && j === column ? 0 : -1}
                      className={cell?.onOpen === undefined ? undefined : css['opens']}
                      style={{ '--strength': `${Math.round((cell?.strength ?? 0) * 40)}%` } as object}
                      onFocus={() => setActive([i, j])}
                      onClick={cell?.onOpen}
                    >
                      {cell?.text ?? ''}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function clamp(place: number, count: number): number {
  return Math.max(0, Math.min(count - 1, place));
}
