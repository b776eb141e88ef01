import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';

/** The share of players who are held out, in percent. */
export const holdoutPercent = z
  .number()
  .min(0)
  .max(100)
  .describe('The share of those who pass the gate that gets nothing, so that the effect can be measured');
nameSchemas({ HoldoutPercent: holdoutPercent });
