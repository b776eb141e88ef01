import { GROUPS, TOPICS } from '../../src/platform/event-log/topics.ts';
import { lasting } from '../engines/lasting.ts';
import { openFixture } from './api-fixture.ts';

/**
 * The API host that the files of a worker share one after the other, each with tenants of its own. It is for files that
 * need no other configuration, and that look at the answers and rows of their tenants only.
 */
export const sharedFixture = lasting(
  'shared API',
  () =>
    openFixture({
      RATE_ADMIN_PER_SECOND: '100000',
      RATE_IDENTIFY_PER_SECOND: '100000',
    }),
  // No processor runs. What waits for the fold would wait for these events for ever.
  async ({ eventLog }) => {
    const lag = await eventLog.lag(TOPICS.events, GROUPS.fold);
    const waiting = lag.filter(({ next_offset, end_offset }) => next_offset < end_offset);
    return waiting.map(({ partition }) => `events in partition ${partition}`);
  },
);
