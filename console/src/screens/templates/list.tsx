import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { oneOf, CHANNELS } from '../../api/choices.ts';
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
import { EXAMPLES } from './examples.ts';
import { STATUSES, useTemplates, type TemplateRecord } from './queries.ts';
import { Status } from './status.tsx';

const route = getRouteApi('/templates');
const m = t.templates;
const EXAMPLE = `curl -X POST "$BASE/v1/templates" -H "Authorization: Bearer $SESSION" -H 'Content-Type: application/json' \\
  -d '{"name":"Welcome","channel":"email","status":"active","subject":"Hello {{first_name}}","body":"Welcome!"}'`;

/** All templates, the newest first. */
export function Templates() {
  const search = route.useSearch();
  const channel = oneOf(CHANNELS, search.channel);
  const status = oneOf(STATUSES, search.status);
  const navigate = useNavigate({ from: '/templates' });
  const may_edit = useMayEdit();
  const filter = (name: 'channel' | 'status', value: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, [name]: value }) });
  const open = (id: string) => void navigate({ to: '/templates/$id', params: { id } });
  const columns: Column<TemplateRecord>[] = [
    { key: 'name', title: m.name, width: 'minmax(220px, 2fr)', cell: ({ name }) => <bdi>{name}</bdi> },
    { key: 'channel', title: m.channel, width: '100px', cell: (row) => t.names.channels[row.channel] },
    { key: 'status', title: m.status, width: '120px', cell: (row) => <Status status={row.status} /> },
    {
      key: 'subject',
      title: m.subject,
      width: 'minmax(160px, 2fr)',
      cell: ({ subject }) => <bdi>{subject ?? '—'}</bdi>,
    },
    { key: 'updated', title: m.updated, width: '210px', cell: (row) => <Time at={row.updated_at} ago /> },
  ];
  const is_filtered = channel !== undefined || status !== undefined;
  return (
    <Page
      title={m.title}
      actions={
        may_edit ? (
          <Button kind="primary" onClick={() => open('new')}>
            {m.new}
          </Button>
        ) : null
      }
    >
      <search>
        <Filter
          label={m.channel}
          value={channel}
          any={m.anyChannel}
          options={CHANNELS.map((one) => ({ value: one, name: t.names.channels[one] }))}
          onChange={(chosen) => filter('channel', chosen)}
        />
        <Filter
          label={m.status}
          value={status}
          any={m.anyStatus}
          options={STATUSES.map((one) => ({ value: one, name: m.statuses[one] }))}
          onChange={(chosen) => filter('status', chosen)}
        />
      </search>
      <Listed
        pages={useTemplates(channel, status)}
        label={m.loading}
        columns={columns}
        keyOf={({ id }) => id}
        onOpen={({ id }) => open(id)}
        empty={
          is_filtered ? (
            <Empty title={m.noMatch} />
          ) : (
            <Empty title={m.none} call={EXAMPLE}>
              <p>{m.noneHelp}</p>
              {may_edit ? <Ready /> : null}
            </Empty>
          )
        }
      />
    </Page>
  );
}

/** Ready examples, for those who may make something. */
function Ready() {
  const navigate = useNavigate();
  const create = useChange('templates.create');
  return (
    <Examples
      examples={EXAMPLES}
      busy={create.isPending}
      error={create.error}
      make={(body) => create.mutateAsync({ inputs: [body] })}
      onMade={(id) => void navigate({ to: '/templates/$id', params: { id } })}
    />
  );
}
