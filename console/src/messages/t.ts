import { en } from './en.ts';

/** The texts of the console. A further language is an object that `satisfies Messages`, and is chosen here. */
export const t = en;
