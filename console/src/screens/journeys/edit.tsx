import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import type { Answer } from '../../api/client.ts';
import { useMayEdit } from '../../api/place.tsx';
import { t } from '../../messages/t.ts';
import { Page } from '../../ui/page.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { Editor } from './editor.tsx';
import { useJourneyNow, type JourneyRecord } from './queries.ts';

const route = getRouteApi('/journeys/$id/edit');
const m = t.journeys.edit;

/** The editor with a journey of one step, its end. */
export function NewJourney() {
  return (
    <ForEditors title={m.newTitle}>
      <Editor />
    </ForEditors>
  );
}

/** The editor with a stored journey, as it was saved last. */
export function EditJourney() {
  const { id } = route.useParams();
  const journey = useJourneyNow(id);
  return (
    <ForEditors title={m.editTitle(journey.data?.data.name ?? t.journeys.one)}>
      <Answered asked={journey} what={t.journeys.loadingOne}>
        {(latest) =>
          latest.data.deleted_at === null ? (
            <Kept key={id} latest={latest} />
          ) : (
            <Empty title={t.journeys.statuses.deleted} />
          )
        }
      </Answered>
    </ForEditors>
  );
}

/** What is edited stays what it was when the page was opened: a later answer would take away what is typed. */
function Kept({ latest }: { latest: Answer<JourneyRecord> }) {
  const [opened] = useState(latest);
  return <Editor journey={opened} />;
}

function ForEditors({ title, children }: { title: string; children: React.ReactNode }) {
  const may_edit = useMayEdit();
  return (
    <Page title={title}>
      {may_edit ? (
        children
      ) : (
        <Empty title={m.viewer}>
          <p>{m.viewerHelp}</p>
        </Empty>
      )}
    </Page>
  );
}
