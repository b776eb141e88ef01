import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';

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

const MAX_DETAIL_LENGTH = 200;
const NO_ANSWER = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT']);

/** What an error of the client library means for the user. Its messages have no tokens; what the provider wrote is cut. */
export function failureOf(error: unknown): SignInFailed {
  if (error instanceof SignInFailed) return error;
  // `error` is a code of the standard; the description may name the user, so it is not kept.
  if (error instanceof AuthorizationResponseError) return failed('refused', error.error);
  if (error instanceof ResponseBodyError) {
    return failed(error.status >= 500 ? 'unavailable' : 'invalid', error.error);
  }
  if (error instanceof ClientError) {
    const { code = '', message, cause } = error;
    const status = cause instanceof Response ? cause.status : 0;
    const why = cause instanceof Error ? `${message}: ${cause.message}` : `${message} ${status || ''}`;
    return failed(NO_ANSWER.has(code) || status >= 500 ? 'unavailable' : 'invalid', `${code} ${why}`);
  }
  if (error instanceof TypeError) {
    const { code } = (error.cause ?? {}) as { code?: string };
    return failed('unavailable', `${error.message} ${code ?? ''}`);
  }
  return failed('invalid', error instanceof Error ? error.message : 'unknown error');
}

function failed(reason: SignInFailed['reason'], detail: string): SignInFailed {
  return new SignInFailed(reason, detail.trim().slice(0, MAX_DETAIL_LENGTH));
}
