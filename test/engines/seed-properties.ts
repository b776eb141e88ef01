import { configureGlobal } from 'fast-check';
import { SEED } from './effort.ts';

// A setup file of every worker: no property draws from a seed of its own.
configureGlobal({ seed: SEED });
