import type { Template } from '@player-engagement/client/admin';
import { useQuery } from '@tanstack/react-query';
import { ask } from '../../api/client.ts';
import { usePlace } from '../../api/place.tsx';

/** A template as a player would get it. It is rendered as it was saved, and asked again when it was saved anew. */
export function usePreview({ id, updated_at }: Template, player_id: string | undefined) {
  const place = usePlace();
  return useQuery({
    queryKey: [place.project_id, 'preview', id, updated_at, player_id],
    queryFn: ({ signal }) =>
      ask('templates.preview', [id, { player_id: player_id ?? null }], { project: place, signal }),
  });
}
