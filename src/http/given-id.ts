import type { z } from 'zod';
import { emptyIdMessage, isEmptyId } from '../platform/empty-ids.ts';

/** The schema of an id with a check that it is not the text of an empty value; `field` is its name in the message. */
export function givenId(field: string, id: z.ZodString | z.ZodGUID, remedy?: string) {
  return id.refine((text) => !isEmptyId(text), {
    error: ({ input }) => emptyIdMessage(field, String(input), remedy),
  });
}
