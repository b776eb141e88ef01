/** Codes of lines that are refused before anything is sent; all others are error codes of the API. */
export type LineCode = 'LINE_TOO_LONG' | 'LINE_MALFORMED' | 'MAPPING_FAILED';

/** Why a line is not imported. */
export interface Refusal {
  code: string;
  reason: string;
}

/** A value of a line that the mapping cannot use; `message` names the column and the value. */
export class ValueError extends Error {
  override readonly name = 'ValueError';
}

/** The command, the mapping or the file cannot be used; `message` says why, for people. */
export class ImportError extends Error {
  override readonly name = 'ImportError';
}

const SHOWN = 60;

/** A value as messages show it: quoted, and cut. */
export function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
}
