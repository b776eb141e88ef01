import { keptAs } from './kept.ts';

/** The id of the visitor of this browser, which pages of an origin share under a name. */
export interface Visitor {
  name: string;
  /** The id; a new one when there is none. */
  id(): string;
  change(): void;
  forget(): void;
}

export function visitorOf(name: string): Visitor {
  const kept = keptAs(name);
  const change = () => kept.write(crypto.randomUUID());
  return {
    name,
    id: () => {
      if (kept.read() === undefined) change();
      return kept.read() ?? '';
    },
    change,
    forget: () => kept.write(undefined),
  };
}
