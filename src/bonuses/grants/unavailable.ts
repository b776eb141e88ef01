import { ApiError } from '../../errors.ts';
import type { GrantRow } from './grant-row.ts';

/** 503 ADAPTER_UNAVAILABLE for a grant that is queued. */
export function unavailable({ grant_id, next_attempt_at }: GrantRow, message: string): ApiError {
  return new ApiError('ADAPTER_UNAVAILABLE', message, {
    details: { grant_id, next_attempt_at },
    retry_after_s: 1,
  });
}
