/** Hears that what a user may do may have changed; undefined: any user. */
type Listener = (user_id: string | undefined) => void;

/** Tells what lasts, such as a stream, that a user's memberships or sessions have changed in any process. */
export class AccessChanges {
  readonly #listeners = new Set<Listener>();

  /** Calls the listener at each change, when a new check sees it; returns how to stop that. */
  watch(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(user_id: string | undefined): void {
    for (const listener of this.#listeners) listener(user_id);
  }
}
