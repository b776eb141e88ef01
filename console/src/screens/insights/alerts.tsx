import { getRouteApi, Link } from '@tanstack/react-router';
import { useAskedBase } from '../../api/currencies.ts';
import { useMayEdit } from '../../api/place.tsx';
import { useList, useRead } from '../../api/queries.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered, Empty, Loading } from '../../ui/states.tsx';
import type { AlertRecord } from './alert-draft.ts';
import { AlertEditor } from './alert-editor.tsx';
import { useMetrics } from './queries.ts';

const route = getRouteApi('/insights/alerts');
const m = t.alerts;

/** The alerts of the project; or the one of the address. */
export function Alerts() {
  const { alert } = route.useSearch();
  if (alert === undefined) return <List />;
  return <One key={alert} id={alert} />;
}

function List() {
  const may_edit = useMayEdit();
  const navigate = route.useNavigate();
  const columns: Column<AlertRecord>[] = [
    { key: 'name', title: m.fields.name, width: 'minmax(160px, 2fr)', cell: ({ name }) => <bdi>{name}</bdi> },
    {
      key: 'interval',
      title: m.fields.interval,
      width: '120px',
      cell: ({ interval }) => m.intervals[interval],
    },
    {
      key: 'state',
      title: m.state,
      width: '140px',
      cell: ({ state }) =>
        state === 'failing' ? <Badge tone="bad">{m.failing}</Badge> : <Badge tone="good">{m.waiting}</Badge>,
    },
    {
      key: 'fired',
      title: m.firings.title,
      width: '210px',
      cell: ({ firings }) => <Time at={firings[0]?.from ?? null} ago />,
    },
    {
      key: 'decided',
      title: m.decided,
      width: '210px',
      cell: ({ decided_until }) => <Time at={decided_until} ago />,
    },
  ];
  const open = (id: string) => void navigate({ search: ({ project }) => ({ project, alert: id }) });
  return (
    <Page
      title={m.title}
      actions={
        may_edit ? (
          <Link to="/insights/alerts" search={({ project }) => ({ project, alert: 'new' })}>
            {m.new}
          </Link>
        ) : null
      }
    >
      <Listed
        pages={useList('alerts.list', [])}
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

function One({ id }: { id: string }) {
  const is_new = id === 'new';
  const alert = useRead('alerts.get', [id], { enabled: !is_new });
  const metrics = useMetrics();
  const base = useAskedBase();
  return (
    <Answered asked={base} what={m.one}>
      {({ currency }) =>
        currency === undefined ? (
          <Loading what={m.one} />
        ) : (
          <Answered asked={metrics} what={m.one}>
            {({ data }) =>
              is_new ? (
                <AlertEditor metrics={data} base={currency} />
              ) : (
                <Answered asked={alert} what={m.one}>
                  {({ data: saved, etag }) => (
                    <AlertEditor alert={saved} etag={etag} metrics={data} base={currency} />
                  )}
                </Answered>
              )
            }
          </Answered>
        )
      }
    </Answered>
  );
}
