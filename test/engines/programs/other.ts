import { register } from 'node:module';

/**
 * Makes the process that imports it first (`node --import`) another program: PROGRAM=`other-advance` or `older-reader`.
 * Its module takes the place of the one that it replaces, as it would in another build; the code has no option for it.
 */
const REPLACED: Record<string, string> = {
  'other-advance': 'src/engage/journeys/runs/advance.js',
  'older-reader': 'src/engage/journeys/graph/read-journey.js',
};

const { PROGRAM = '' } = process.env;
const replaced = REPLACED[PROGRAM];
if (replaced === undefined) throw new Error(`PROGRAM must be one of ${Object.keys(REPLACED).join(', ')}`);
register('./hooks.js', import.meta.url, {
  data: {
    url: new URL(`../../../${replaced}`, import.meta.url).href,
    by: new URL(`./${PROGRAM}.js`, import.meta.url).href,
  },
});
