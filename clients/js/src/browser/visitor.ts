/** The id of the visitor of this browser, which pages of an origin share under a name. */
export interface Visitor {
  name: string;
  /** The id; a new one when there is none. */
  id(): string;
  change(): void;
  forget(): void;
}

export function visitorOf(name: string): Visitor {
  // Of a browser that keeps nothing: until the page ends.
  let last: string | undefined;
  const read = () => {
    try {
      return localStorage.getItem(name) ?? undefined;
    } catch {
      return last;
    }
  };
  const write = (id: string | undefined) => {
    last = id;
    try {
      if (id === undefined) localStorage.removeItem(name);
      else localStorage.setItem(name, id);
    } catch {
      // Full, or forbidden.
    }
  };
  const change = () => write(crypto.randomUUID());
  return {
    name,
    id: () => {
      if (read() === undefined) change();
      return read() ?? last ?? '';
    },
    change,
    forget: () => write(undefined),
  };
}
