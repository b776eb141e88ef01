import type { IdentifyInput } from '../events/content.ts';
import type { Callbacks, Counts } from '../events/sender.ts';

/** How a page or an app's webview sends events. */
export interface ClientOptions extends Callbacks {
  /** An API key of the kind `client`: it is public. */
  key: string;
  /** The ingestion host, which takes events; default: the origin of the page. */
  ingest_url?: string | undefined;
  /** The API host. `identify` rejects without it: the ingestion host does not take these calls. */
  base_url?: string | undefined;
  /** Names the queue and the id of the visitor at this origin; default: `player-engagement`. */
  name?: string | undefined;
}

/** What an event may have in addition to its name and properties. */
export interface TrackOptions {
  /** When it happened; default: now. */
  timestamp?: string | Date | undefined;
  /** Who did it, by the id that `identify` answers; default: the visitor of this browser. */
  player_id?: string | undefined;
}

/** A client of a page. It does nothing until there is consent. */
export interface BrowserClient {
  /** Whether anything may be kept and sent. Say it on each page. False removes what waits, and the id of the visitor. */
  consent(is_given: boolean): Promise<void>;
  /** Sends an event. Resolves when it is kept: it is sent even if the page is closed, after that or at a later visit. */
  track(event: string, properties?: Readonly<Record<string, unknown>>, options?: TrackOptions): Promise<void>;
  /** Says who the visitor is, after the events before it and before those after it. */
  identify(external_id: string, more?: Omit<IdentifyInput, 'external_id'>): Promise<void>;
  /** Sends now. Resolves when nothing waits, or nothing is sent any more. */
  flush(): Promise<void>;
  /** After a logout: the next visitor of this browser is somebody else. */
  reset(): void;
  /** The id of the visitor; undefined without consent. */
  readonly anonymous_id: string | undefined;
  readonly counts: Counts;
}
