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
      RATE_ADMIN_BURST: '100000',
      RATE_IDENTIFY_PER_SECOND: '100000',
    }),
  // Nothing goes on without processors.
  () => Promise.resolve([]),
);
