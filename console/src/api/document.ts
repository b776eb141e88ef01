import { useQuery } from '@tanstack/react-query';
import { client } from './client.ts';
import type { ApiDocument } from './document-shapes.ts';

const FRESH_MS = 3_600_000;

/** The service's own OpenAPI document. It is the same for everybody. */
export function useApiDocument() {
  return useQuery({
    queryKey: ['openapi'],
    queryFn: async ({ signal }) => (await client.openapiJson({ signal })) as unknown as ApiDocument,
    staleTime: FRESH_MS,
  });
}
