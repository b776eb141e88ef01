import { z } from 'zod';

/** The schema of a 64-bit integer in an answer. It is written with all its digits, so clients must not read it as a double. */
export const int64 = z.int().meta({ format: 'int64' });
