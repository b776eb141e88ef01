import { getRouteApi } from '@tanstack/react-router';
import { useAskedBase } from '../../api/currencies.ts';
import { useList, useRead } from '../../api/queries.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Answered, Loading } from '../../ui/states.tsx';
import { AlertEditor } from './alert-editor.tsx';
import { DueList } from './due-list.tsx';
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
  return (
    <DueList
      kind="alert"
      pages={useList('alerts.list', [])}
      columns={[
        {
          key: 'interval',
          title: m.fields.interval,
          width: '120px',
          cell: ({ interval }) => m.intervals[interval],
        },
        {
          key: 'fired',
          title: m.firings.title,
          width: '210px',
          cell: ({ firings }) => <Time at={firings[0]?.from ?? null} ago />,
        },
      ]}
    />
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
