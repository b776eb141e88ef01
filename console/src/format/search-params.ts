/** Reads text parameters of a URL; anything else in it is ignored. */
export function texts<const Name extends string>(...names: readonly Name[]) {
  return (search: Record<string, unknown>): { [N in Name]?: string | undefined } => {
    const found = names.filter((name) => typeof search[name] === 'string' && search[name] !== '');
    return Object.fromEntries(found.map((name) => [name, search[name]])) as {
      [N in Name]?: string | undefined;
    };
  };
}

/** Reads parameters of a URL that are written as JSON; anything else in it is ignored. */
export function objects<const Name extends string>(...names: readonly Name[]) {
  return (search: Record<string, unknown>): { [N in Name]?: object | undefined } => {
    const found = names.filter((name) => typeof search[name] === 'object' && search[name] !== null);
    return Object.fromEntries(found.map((name) => [name, search[name]])) as {
      [N in Name]?: object | undefined;
    };
  };
}
