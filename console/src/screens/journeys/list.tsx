import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { oneOf } from '../../api/choices.ts';
import { useMayEdit } from '../../api/place.tsx';
import { Time } from '../../format/zone.tsx';
import { asWritten } from '../../api/json.ts';
import { useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Filter } from '../../ui/filter.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Examples } from '../../ui/examples.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import css from './journeys.module.css';
import { useNames } from './names.ts';
import { EXAMPLES } from './examples.ts';
import { MOST_COUNTED, STATUSES, useJourneys, useVersions, type ListedJourney } from './queries.ts';
import { Status } from './status.tsx';
import { triggerText } from './words.ts';

const route = getRouteApi('/journeys');
const m = t.journeys;
const EXAMPLE = `curl -X POST "$BASE/v1/journeys" -H "Authorization: Bearer $SESSION" -H 'Content-Type: application/json' \\
  -d '{"name":"Welcome","trigger":{"kind":"event","event":"player_registered"},"graph":{"start_node_id":"wait",
    "nodes":[{"id":"wait","type":"wait","duration_ms":86400000,"next":"end"},{"id":"end","type":"end"}]}}'`;

const COLUMNS: readonly Column<ListedJourney>[] = [
  { key: 'name', title: m.columns.name, width: 'minmax(220px, 2fr)', cell: ({ name }) => <bdi>{name}</bdi> },
  { key: 'status', title: m.columns.status, width: '110px', cell: (row) => <Status journey={row} /> },
  {
    key: 'trigger',
    title: m.columns.trigger,
    width: 'minmax(180px, 2fr)',
    cell: ({ trigger }) => <Trigger trigger={trigger} />,
  },
  {
    key: 'running',
    title: m.columns.running,
    width: '110px',
    align: 'right',
    cell: (row) => <Running journey={row} />,
  },
  {
    key: 'problem',
    title: m.columns.problem,
    width: 'minmax(120px, 1fr)',
    cell: ({ last_error }) => <span title={last_error ?? undefined}>{last_error ?? '—'}</span>,
  },
  {
    key: 'changed',
    title: m.columns.changed,
    width: '210px',
    cell: ({ updated_at }) => <Time at={updated_at} ago />,
  },
];

/** All journeys of the project, the newest first. */
export function Journeys() {
  const navigate = useNavigate({ from: '/journeys' });
  const may_edit = useMayEdit();
  const known = oneOf(STATUSES, route.useSearch().status);
  return (
    <Page
      title={m.title}
      actions={
        may_edit ? (
          <Link to="/journeys/new" className={css['action']}>
            {m.create}
          </Link>
        ) : null
      }
    >
      <search>
        <Filter
          label={m.status}
          value={known}
          any={m.anyStatus}
          options={STATUSES.map((one) => ({ value: one, name: m.statuses[one] }))}
          onChange={(chosen) => void navigate({ search: (before) => ({ ...before, status: chosen }) })}
        />
      </search>
      <Listed
        pages={useJourneys(known)}
        label={m.loading}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/journeys/$id', params: { id } })}
        empty={
          known === undefined ? (
            <Empty title={m.none} call={EXAMPLE}>
              <p>{m.noneHelp}</p>
              {may_edit ? <Link to="/journeys/new">{m.create}</Link> : null}
              {may_edit ? <Ready /> : null}
            </Empty>
          ) : (
            <Empty title={m.noMatch} />
          )
        }
      />
    </Page>
  );
}

function Trigger({ trigger }: Pick<ListedJourney, 'trigger'>) {
  const text = triggerText(trigger, useNames(trigger));
  return <bdi title={text}>{text}</bdi>;
}

/** Versions whose runs are counted: those before have few, if any. */
const COUNTED_VERSIONS = 20;

/** The running runs, asked apart and for the visible rows alone. */
function Running({ journey: { id, version } }: { journey: ListedJourney }) {
  const { rows, error } = useVersions(id, { enabled: version !== null, page: COUNTED_VERSIONS });
  if (version === null || error !== null) return '—';
  if (rows === undefined) return <span className="heard">{m.countingRuns}</span>;
  const counts = rows.map(({ running }) => running);
  const sum = counts.reduce((one, other) => one + other, 0);
  return m.running(
    sum,
    counts.some((count) => count >= MOST_COUNTED),
  );
}

/** Ready examples, for those who may make something. */
function Ready() {
  const navigate = useNavigate();
  const create = useChange('journeys.create');
  return (
    <Examples
      examples={EXAMPLES}
      busy={create.isPending}
      error={create.error}
      make={(body) => create.mutateAsync({ inputs: [asWritten(body)] })}
      onMade={(id) => void navigate({ to: '/journeys/$id', params: { id } })}
    />
  );
}
