/** Why a sign-in did not end in a session: the pages for users are by these reasons. */
export type FailureReason =
  /** The identity provider has answered with an error: the user may not, or did not want to. */
  | 'refused'
  /** The browser has not begun this sign-in, or too long ago, or has ended it already. */
  | 'not_begun'
  /** What the provider has answered is not valid; also: it does not accept this client. */
  | 'invalid'
  /** The provider does not answer. */
  | 'unavailable'
  /** Too many sign-ins at once. */
  | 'busy';

/** `detail` is for the log: it names the check that failed, and has no token, code or secret. */
export class SignInFailed extends Error {
  override readonly name = 'SignInFailed';
  readonly reason: FailureReason;
  readonly detail: string;

  constructor(reason: FailureReason, detail: string) {
    super(`${reason}: ${detail}`);
    this.reason = reason;
    this.detail = detail;
  }
}
