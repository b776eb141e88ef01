import { LoopThrottle } from '../../platform/loop-throttle.ts';
import { TooBusy } from '../../platform/fair-queue.ts';

/** Requests of one tenant that wait to render; fewer get so far, because few of one endpoint run at once. */
const REQUESTS = { max_waiting: 20, max_wait_ms: 3_000 };
/** Batches of one tenant that wait to render their next message. */
const MESSAGES = { max_waiting: 100, max_wait_ms: 10_000 };

/** One for all hosts and processors of a process, like the event loop that it shares out. */
const loop = new LoopThrottle();

/**
 * Renders for a request of the tenant. A template may hold the event loop for 50 ms, so all of them together get a fifth
 * of it, and tenants take turns. Rejects with TooBusy after 3 s.
 */
export function renderForRequest<T>(tenant_id: string, render: () => T): Promise<T> {
  return loop.run(`request ${tenant_id}`, REQUESTS, render);
}

/** Renders a message whose template takes long, in the same turns. After 10 s it is rendered anyway. */
export async function renderLongMessage<T>(tenant_id: string, render: () => T): Promise<T> {
  try {
    return await loop.run(`message ${tenant_id}`, MESSAGES, render);
  } catch (error) {
    if (!(error instanceof TooBusy)) throw error;
    return render();
  }
}
