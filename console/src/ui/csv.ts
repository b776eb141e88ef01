import { cellOf } from '../format/csv.ts';

const REVOKE_MS = 10_000;

/** Saves rows as a CSV file. */
export function downloadCsv(name: string, rows: readonly (readonly string[])[]): void {
  const text = rows.map((row) => row.map(cellOf).join(',')).join('\r\n');
  const url = URL.createObjectURL(new Blob(['\uFEFF', text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${name.replaceAll(/[^\p{L}\p{N}]+/gu, '-').slice(0, 80)}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_MS);
}
