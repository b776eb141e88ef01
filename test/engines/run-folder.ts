import { tmpdir } from 'node:os';

/** The variable with the folder that is removed at the end of a run, with what its workers leave there. */
export const RUN_FOLDER = 'TEST_RUN_FOLDER';

/** The folder for temporary folders. */
export const runFolder = (): string => process.env[RUN_FOLDER] ?? tmpdir();
