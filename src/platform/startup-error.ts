/** A start that failed for a reason of which `message` says everything, also what to do: nobody needs its stack. */
export class StartupError extends Error {
  override readonly name: string = 'StartupError';
}
