import { useQuery } from '@tanstack/react-query';
import { ApiError } from './errors.ts';
import type { ApiDocument } from './document-shapes.ts';

const FRESH_MS = 3_600_000;
const TIMEOUT_MS = 30_000;

/** The service's own OpenAPI document. It has no envelope, and is the same for everybody. */
export function useApiDocument() {
  return useQuery<ApiDocument, ApiError>({
    queryKey: ['openapi'],
    queryFn: fetchDocument,
    staleTime: FRESH_MS,
  });
}

/** Rejects with {@link ApiError}. */
async function fetchDocument({ signal }: { signal: AbortSignal }): Promise<ApiDocument> {
  try {
    const response = await fetch('/openapi.json', {
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const { status } = response;
    const document = (await response.json()) as Partial<ApiDocument> | null;
    if (response.ok && document?.paths !== undefined) return document as ApiDocument;
    throw new ApiError('ANSWER_UNREADABLE', `the answer (status ${status}) is no OpenAPI document`, {
      status,
    });
  } catch (cause) {
    if (signal.aborted || cause instanceof ApiError) throw cause;
    throw new ApiError('UNREACHABLE', 'the API document cannot be read', { status: 0, cause });
  }
}
