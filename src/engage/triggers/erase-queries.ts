import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Eraser } from '../../players/dependents.ts';

/** Events that may still fire something, and those that wait for a rate. */
export const triggerEventEraser: Eraser = {
  step: 'trigger_events',
  async erase(tx, { tenant_id, project_id, player_ids }) {
    const { count } = await tx`
      delete from trigger_events
      where tenant_id = ${tenant_id} and project_id = ${project_id}
        and player_id = any(${plainArray(player_ids)}::text::uuid[])`;
    // The line of an event on the log names its player, after the name of the event alone. It is not cast: of what Postgres
    // does not take for JSON, one line would stop every erasure.
    const unrated = await tx`
      delete from unrated_events
      where tenant_id = ${tenant_id} and project_id = ${project_id}
        and substring(value from ',"player_id":"(.{36})"') = any(${plainArray(player_ids)}::text::text[])`;
    return count + unrated.count;
  },
};
