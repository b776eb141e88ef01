import type { ReactNode } from 'react';
import css from './table.module.css';

interface TableProps {
  label: string;
  head: readonly string[];
  rows: readonly { key: string; cells: readonly ReactNode[] }[];
  /** Long texts are broken anywhere, so that the table is as wide as its place. */
  wraps?: boolean;
}

/** A small table; long lists are a grid. */
export function Table({ label, head, rows, wraps = false }: TableProps) {
  return (
    <div className={css['scroller']} tabIndex={0} role="group" aria-label={label}>
      <table className={`${css['table']} ${wraps ? css['wraps'] : ''}`}>
        <thead>
          <tr>
            {head.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, i) => (
                <td key={head[i]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
