import { findUnsafe } from '../../../ingest/events/text-safety.ts';
import { journeyInvalid, Place, type JourneyIssue } from './issues.ts';
import { readGraph } from './read-graph.ts';
import type { RefuseUrl } from './read-node.ts';
import { readSettings } from './read-settings.ts';
import { readTrigger } from './read-trigger.ts';
import type { Definition } from './shapes.ts';

/** A definition as a caller wrote it, or as the database has stored it. */
export interface WrittenJourney {
  trigger: unknown;
  graph: unknown;
  /** Undefined: the defaults. */
  settings?: unknown;
}

/** Bytes of the definition as JSON. */
const MAX_BYTES = 256 * 1_024;

/**
 * Reads a definition. `refuseUrl` says why the service may not call a webhook's URL, as far as the URL itself shows it;
 * stored definitions are read without it, since the configuration may have changed. Throws JOURNEY_GRAPH_INVALID with
 * all problems (at most 100) in `details.issues`.
 */
export function readJourney(written: WrittenJourney, refuseUrl: RefuseUrl = () => undefined): Definition {
  const issues: JourneyIssue[] = [];
  const parts = { trigger: written.trigger, graph: written.graph, settings: written.settings };
  for (const [name, part] of Object.entries(parts)) {
    const unsafe = findUnsafe(part, name);
    if (unsafe !== undefined) new Place(issues, [name]).report('FIELD_INVALID', unsafe);
  }
  if (issues.length > 0) throw journeyInvalid(issues);
  const bytes = Buffer.byteLength(JSON.stringify(parts));
  if (bytes > MAX_BYTES) {
    const message = `the definition has ${bytes} bytes of JSON: at most ${MAX_BYTES} are allowed`;
    new Place(issues, ['graph']).report('FIELD_INVALID', message);
    throw journeyInvalid(issues);
  }
  const trigger = readTrigger(written.trigger, new Place(issues, ['trigger']));
  const graph = readGraph(written.graph, new Place(issues, ['graph']), refuseUrl);
  const settings = readSettings(written.settings, new Place(issues, ['settings']));
  if (issues.length > 0) throw journeyInvalid(issues);
  if (trigger === undefined || graph === undefined || settings === undefined) {
    throw new TypeError('a definition was refused without a reason');
  }
  return { trigger, graph, settings };
}
