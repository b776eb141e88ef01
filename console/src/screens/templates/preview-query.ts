import { useQuery } from '@tanstack/react-query';
import { call, type Answer } from '../../api/call.ts';
import type { ApiError } from '../../api/errors.ts';
import { usePlace } from '../../api/place.tsx';
import type { TemplateRecord } from './queries.ts';

/** A template as a player would get it. */
export interface Rendered {
  subject: string | null;
  preheader: string | null;
  missing_variables: readonly string[];
}

/** Renders the saved template; it is asked again when it was saved anew. */
export function usePreview({ id, updated_at }: TemplateRecord, player_id: string | undefined) {
  const place = usePlace();
  return useQuery<Answer<Rendered>, ApiError>({
    queryKey: [place.project_id, 'preview', id, updated_at, player_id],
    queryFn: ({ signal }) =>
      call<Rendered>({
        method: 'POST',
        path: `/v1/templates/${id}/preview`,
        body: { player_id: player_id ?? null },
        project: place,
        signal,
      }),
  });
}
