import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useAskedBase } from '../../api/currencies.ts';
import { usePlace } from '../../api/place.tsx';
import { roleAllows } from '../../api/session.ts';
import { t } from '../../messages/t.ts';
import { Page } from '../../ui/page.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { Builder } from './builder.tsx';
import { useSegment, useVocabulary } from './queries.ts';

const route = getRouteApi('/segments/$id/edit');
const m = t.segments;

/** The builder with nothing in it. */
export function NewSegment() {
  const vocabulary = useVocabulary();
  const base = useAskedBase();
  return (
    <ForEditors title={m.build.newTitle}>
      <Answered asked={vocabulary} what={m.build.loading}>
        {({ data }) => (
          <Answered asked={base} what={m.build.loading}>
            {({ currency }) => <Builder vocabulary={data} currency={currency} />}
          </Answered>
        )}
      </Answered>
    </ForEditors>
  );
}

/** The builder with a stored segment. */
export function EditSegment() {
  const { id } = route.useParams();
  const vocabulary = useVocabulary();
  const segment = useSegment(id);
  const base = useAskedBase();
  // What is edited stays what it was when the page was opened: a later answer is shown as a change by somebody else.
  const [generation, setGeneration] = useState(0);
  return (
    <ForEditors title={m.build.editTitle(segment.data?.data.name ?? m.one)}>
      <Answered asked={vocabulary} what={m.build.loading}>
        {({ data: words }) => (
          <Answered asked={base} what={m.build.loading}>
            {({ currency }) => (
              <Answered asked={segment} what={m.loadingOne}>
                {(latest) =>
                  latest.data.deleted_at === null ? (
                    <Builder
                      key={generation}
                      vocabulary={words}
                      currency={currency}
                      latest={latest}
                      onAskAgain={() => segment.refetch()}
                      onStartAgain={() => setGeneration(generation + 1)}
                    />
                  ) : (
                    <Empty title={m.status.deleted} />
                  )
                }
              </Answered>
            )}
          </Answered>
        )}
      </Answered>
    </ForEditors>
  );
}

function ForEditors({ title, children }: { title: string; children: React.ReactNode }) {
  const { role } = usePlace();
  return (
    <Page title={title}>
      {roleAllows(role, 'editor') ? (
        children
      ) : (
        <Empty title={m.viewer}>
          <p>{m.viewerHelp}</p>
        </Empty>
      )}
    </Page>
  );
}
