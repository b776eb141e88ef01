/** The start of the process failed. `message` gives the reason and what to do, so the stack need not be logged. */
export class StartupError extends Error {
  override readonly name: string = 'StartupError';
}
