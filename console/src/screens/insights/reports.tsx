import { getRouteApi, Link } from '@tanstack/react-router';
import { useMayEdit } from '../../api/place.tsx';
import { useList, useRead } from '../../api/queries.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { scheduleWords, type ReportRecord } from './report-draft.ts';
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
  const may_edit = useMayEdit();
  const navigate = route.useNavigate();
  const columns: Column<ReportRecord>[] = [
    { key: 'name', title: m.fields.name, width: 'minmax(160px, 2fr)', cell: ({ name }) => <bdi>{name}</bdi> },
    {
      key: 'schedule',
      title: m.schedule,
      width: 'minmax(240px, 2fr)',
      cell: ({ schedule }) => scheduleWords(schedule),
    },
    { key: 'state', title: m.state, width: '180px', cell: (row) => <ReportState of={row} /> },
    {
      key: 'decided',
      title: m.decided,
      width: '210px',
      cell: ({ decided_until }) => <Time at={decided_until} ago />,
    },
  ];
  const open = (id: string) => void navigate({ search: ({ project }) => ({ project, report: id }) });
  return (
    <Page
      title={m.title}
      actions={
        may_edit ? (
          <Link to="/insights/reports" search={({ project }) => ({ project, report: 'new' })}>
            {m.new}
          </Link>
        ) : null
      }
    >
      <Listed
        pages={useList('reports.list', [])}
        label={m.title}
        columns={columns}
        keyOf={({ id }) => id}
        onOpen={({ id }) => open(id)}
        empty={
          <Empty title={m.none}>
            <p>{m.noneHelp}</p>
          </Empty>
        }
      />
    </Page>
  );
}

function ReportState({ of: { state } }: { of: ReportRecord }) {
  if (state === 'disabled') return <Badge>{m.off}</Badge>;
  return state === 'failing' ? <Badge tone="bad">{m.failing}</Badge> : <Badge tone="good">{m.waiting}</Badge>;
}

function Saved({ id }: { id: string }) {
  const asked = useRead('reports.get', [id]);
  return (
    <Answered asked={asked} what={m.one}>
      {({ data, etag }) => <ReportEditor report={data} etag={etag} />}
    </Answered>
  );
}
