import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { oneOf } from '../../api/choices.ts';
import { useMayEdit } from '../../api/place.tsx';
import { Time } from '../../format/zone.tsx';
import { useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Filter } from '../../ui/filter.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Examples } from '../../ui/examples.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Calendar } from './calendar.tsx';
import { EXAMPLES } from './examples.ts';
import { STATUSES, useCampaigns, type CampaignRecord } from './queries.ts';
import { Status } from './status.tsx';

const route = getRouteApi('/campaigns');
const m = t.campaigns;
const VIEWS = ['list', 'calendar'] as const;
const EXAMPLE = `curl -X POST "$BASE/v1/campaigns" -H "Authorization: Bearer $SESSION" -H 'Content-Type: application/json' \\
  -d '{"name":"May offer","channel":"email","segment_id":"…","template_id":"…"}'`;

/** All campaigns: as a list, or by the day on which they are sent. */
export function Campaigns() {
  const { view } = route.useSearch();
  const navigate = useNavigate({ from: '/campaigns' });
  const may_edit = useMayEdit();
  const shown = VIEWS.find((one) => one === view) ?? 'list';
  return (
    <Page
      title={m.title}
      actions={
        may_edit ? (
          <Button
            kind="primary"
            onClick={() => void navigate({ to: '/campaigns/$id', params: { id: 'new' } })}
          >
            {m.new}
          </Button>
        ) : null
      }
    >
      <Tabs
        label={m.title}
        current={shown}
        tabs={VIEWS.map((key) => ({ key, title: m.views[key] }))}
        link={(key, props) => (
          <Link {...props} to="/campaigns" search={(before) => ({ ...before, view: key })} />
        )}
      >
        {shown === 'list' ? <List /> : <Calendar />}
      </Tabs>
    </Page>
  );
}

function List() {
  const status = oneOf(STATUSES, route.useSearch().status);
  const may_edit = useMayEdit();
  const navigate = useNavigate({ from: '/campaigns' });
  const columns: Column<CampaignRecord>[] = [
    {
      key: 'name',
      title: m.columns.name,
      width: 'minmax(220px, 2fr)',
      cell: ({ name }) => <bdi>{name}</bdi>,
    },
    { key: 'status', title: m.columns.status, width: '130px', cell: (row) => <Status status={row.status} /> },
    {
      key: 'channel',
      title: m.columns.channel,
      width: '90px',
      cell: ({ channel }) => t.names.channels[channel],
    },
    {
      key: 'when',
      title: m.columns.when,
      width: '210px',
      cell: (row) => <Time at={row.started_at ?? row.schedule_at} />,
    },
    {
      key: 'problem',
      title: m.columns.problem,
      width: 'minmax(120px, 1fr)',
      cell: ({ last_error }) => last_error ?? '—',
    },
    {
      key: 'changed',
      title: m.columns.changed,
      width: '210px',
      cell: (row) => <Time at={row.updated_at} ago />,
    },
  ];
  return (
    <>
      <search>
        <Filter
          label={m.status}
          value={status}
          any={m.anyStatus}
          options={STATUSES.map((one) => ({ value: one, name: m.statuses[one] ?? one }))}
          onChange={(chosen) => void navigate({ search: (before) => ({ ...before, status: chosen }) })}
        />
      </search>
      <Listed
        pages={useCampaigns(status)}
        label={m.loading}
        columns={columns}
        keyOf={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/campaigns/$id', params: { id } })}
        empty={
          status === undefined ? (
            <Empty title={m.none} call={EXAMPLE}>
              <p>{m.noneHelp}</p>
              {may_edit ? <Ready /> : null}
            </Empty>
          ) : (
            <Empty title={m.noMatch} />
          )
        }
      />
    </>
  );
}

/** Ready examples, for those who may make something. */
function Ready() {
  const navigate = useNavigate();
  const create = useChange('campaigns.create');
  return (
    <Examples
      examples={EXAMPLES}
      busy={create.isPending}
      error={create.error}
      make={(body) => create.mutateAsync({ inputs: [body] })}
      onMade={(id) => void navigate({ to: '/campaigns/$id', params: { id } })}
    />
  );
}
