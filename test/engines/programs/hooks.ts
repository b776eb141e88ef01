import type { ResolveHook } from 'node:module';

interface Replacement {
  /** Of the module that is replaced, and of the one that takes its place. */
  url: string;
  by: string;
}

let replacement: Replacement | undefined;

export function initialize(data: Replacement): void {
  replacement = data;
}

/** Only the module that takes the place of the other one may import it. */
export const resolve: ResolveHook = async (specifier, context, next) => {
  const found = await next(specifier, context);
  if (replacement === undefined || found.url !== replacement.url || context.parentURL === replacement.by) {
    return found;
  }
  return { ...found, url: replacement.by };
};
