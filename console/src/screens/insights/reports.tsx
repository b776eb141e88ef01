import { getRouteApi } from '@tanstack/react-router';
import { useList, useRead } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Answered } from '../../ui/states.tsx';
import { DueList } from './due-list.tsx';
import { scheduleWords } from './report-draft.ts';
import { ReportEditor } from './report-editor.tsx';

const route = getRouteApi('/insights/reports');
const m = t.reports;

/** The reports of the project; or the one of the address. */
export function Reports() {
  const { report } = route.useSearch();
  if (report === undefined) return <List />;
  return report === 'new' ? <ReportEditor key="new" /> : <Saved key={report} id={report} />;
}

function List() {
  return (
    <DueList
      kind="report"
      pages={useList('reports.list', [])}
      columns={[
        {
          key: 'schedule',
          title: m.schedule,
          width: 'minmax(240px, 2fr)',
          cell: ({ schedule }) => scheduleWords(schedule),
        },
      ]}
    />
  );
}

function Saved({ id }: { id: string }) {
  const asked = useRead('reports.get', [id]);
  return (
    <Answered asked={asked} what={m.one}>
      {({ data, etag }) => <ReportEditor report={data} etag={etag} />}
    </Answered>
  );
}
