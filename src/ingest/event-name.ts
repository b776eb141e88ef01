import { z } from 'zod';
import { nearestOf, quoted } from '../http/quoted.ts';
import { CUSTOM_PREFIX, EVENTS } from './events/catalogue.ts';
import { isEventName } from './events/validate.ts';

/** What a name of an event must be, for messages about another one. */
export const EVENT_NAME_RULE = `must be a name of the event catalogue, or begin with ${CUSTOM_PREFIX}`;

/** A name of an event in a request; the refusal of another one has the names most like it. */
export const eventNameSchema = z.string().refine(isEventName, {
  error: ({ input }) => `${EVENT_NAME_RULE}, not ${quoted(input)}${nearestOf(input, Object.keys(EVENTS))}`,
});
