import type { Template } from '@player-engagement/client/admin';
import { useQuery } from '@tanstack/react-query';
import { ask } from '../api/client.ts';
import { usePlace } from '../api/place.tsx';
import { t } from '../messages/t.ts';
import { Badge } from './badge.tsx';
import { Facts } from './facts.tsx';
import { Answered } from './states.tsx';
import css from './template-preview.module.css';

const m = t.templates;

/** A template as a player would get it. It is rendered as it was saved, and asked again when it was saved anew. */
function usePreview({ id, updated_at }: Template, player_id: string | undefined) {
  const place = usePlace();
  return useQuery({
    queryKey: [place.project_id, 'preview', id, updated_at, player_id],
    queryFn: ({ signal }) =>
      ask('templates.preview', [id, { player_id: player_id ?? null }], { project: place, signal }),
  });
}

/** The saved template as a player would get it, in a frame in which nothing of it can run; without a player: a made-up one. */
export function RenderedTemplate({
  template,
  title = m.previewOf,
  player,
  width,
}: {
  template: Template;
  /** Of the frame, where there are several. */
  title?: string;
  player: string | undefined;
  width: 'desktop' | 'phone';
}) {
  const { tenant_id, project_id } = usePlace();
  const asked = usePreview(template, player);
  const query = new URLSearchParams({
    tenant_id,
    project_id,
    ...(player === undefined ? {} : { player_id: player }),
  });
  return (
    <Answered asked={asked} what={m.tabs.preview}>
      {({ data: { subject, preheader, missing_variables } }) => (
        <>
          {subject === null ? null : (
            <Facts
              label={m.previewOf}
              facts={[
                [template.channel === 'push' ? m.pushTitle : m.subject, <bdi key="subject">{subject}</bdi>],
                ...(preheader === null
                  ? []
                  : [[m.preheader, <bdi key="preheader">{preheader}</bdi>] as const]),
              ]}
            />
          )}
          {missing_variables.length === 0 ? null : (
            <p>
              <Badge tone="warn">{m.missing(missing_variables.join(', '))}</Badge>
            </p>
          )}
          <iframe
            key={template.updated_at}
            sandbox=""
            title={title}
            src={`/v1/templates/${template.id}/preview-frame?${query}`}
            className={`${css['frame']} ${css[width]}`}
          />
        </>
      )}
    </Answered>
  );
}
