import { getRouteApi } from '@tanstack/react-router';
import { t } from '../../messages/t.ts';
import { Answered } from '../../ui/states.tsx';
import { Editor } from './editor.tsx';
import { useCampaign } from './queries.ts';
import { Report } from './report.tsx';

const route = getRouteApi('/campaigns/$id');

/** One campaign: before it is sent its editor, then its report. */
export function Campaign() {
  const { id } = route.useParams();
  const is_new = id === 'new';
  const campaign = useCampaign(id, !is_new);
  if (is_new) return <Editor key="new" />;
  return (
    <Answered asked={campaign} what={t.campaigns.one}>
      {({ data, etag }) =>
        data.status === 'draft' || data.status === 'scheduled' ? (
          <Editor key={id} campaign={data} etag={etag} />
        ) : (
          <Report key={id} campaign={data} />
        )
      }
    </Answered>
  );
}
