import { useEffect, useRef, useState } from 'react';
import type { Place } from '../api/session.ts';
import { parseExactly } from '../api/json.ts';

/** An event as it was accepted. */
export interface StreamedEvent {
  ingestion_id: string;
  index: number;
  event: string;
  received_at: string;
  timestamp: string | null;
  anonymous_id: string | null;
  player_id: string | null;
  properties: Readonly<Record<string, unknown>>;
}

/** The last events, the newest first; how many were too many to show; and whether the stream is open. */
export interface Tail {
  events: readonly StreamedEvent[];
  skipped: number;
  state: 'connecting' | 'open' | 'lost';
}

const SHOWN = 500;
/** The page is painted anew at most so often, however many events come. */
const PAINT_MS = 100;

/**
 * Follows the events of the project while `on`. Keeps the last {@link SHOWN}: the memory of the page does not grow.
 * The browser connects again by itself and says which event was the last.
 */
export function useEventStream(project: Place, on: boolean): Tail {
  const [tail, setTail] = useState<Tail>({ events: [], skipped: 0, state: 'connecting' });
  const waiting = useRef<StreamedEvent[]>([]);
  const { tenant_id, project_id } = project;
  useEffect(() => {
    if (!on) return undefined;
    const query = new URLSearchParams({ tenant_id, project_id });
    const source = new EventSource(`/v1/event-stream?${query}`);
    let skipped = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const paint = () => {
      timer = undefined;
      const fresh = waiting.current.splice(0).reverse();
      setTail((before) => ({
        events: [...fresh, ...before.events].slice(0, SHOWN),
        skipped: before.skipped + skipped,
        state: 'open',
      }));
      skipped = 0;
    };
    const later = () => {
      timer ??= setTimeout(paint, PAINT_MS);
    };
    // From here on everything that is accepted is shown.
    source.addEventListener('ready', later);
    source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      waiting.current.push(parseExactly(data) as StreamedEvent);
      if (waiting.current.length > SHOWN) waiting.current.shift();
      later();
    });
    source.addEventListener('skipped', ({ data }: MessageEvent<string>) => {
      // Null: the stream does not know how many.
      skipped += (parseExactly(data) as { count: number | null }).count ?? 1;
      later();
    });
    source.addEventListener('error', () => setTail((before) => ({ ...before, state: 'lost' })));
    return () => {
      clearTimeout(timer);
      source.close();
    };
  }, [on, tenant_id, project_id]);
  return tail;
}
