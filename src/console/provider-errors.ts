import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';
import { SignInFailed } from './sign-in-failed.ts';

const MAX_DETAIL_LENGTH = 200;
const NO_ANSWER = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT']);

/** What an error of the client library means for the user. Its messages have no tokens; what the provider wrote is cut. */
export function failureOf(error: unknown): SignInFailed {
  if (error instanceof SignInFailed) return error;
  // `error` is a code of the standard; the description, which may name the user, is left out.
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
