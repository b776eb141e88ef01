import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { usePlace } from '../../api/place.tsx';
import { roleAllows } from '../../api/session.ts';
import { formatInt } from '../../format/number.ts';
import { hasWords } from '../../format/search.ts';
import { Time } from '../../format/zone.tsx';
import { useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Field } from '../../ui/field.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Examples } from '../../ui/examples.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { EXAMPLES } from './examples.ts';
import { useSegments, type SegmentRecord } from './queries.ts';
import css from './segments.module.css';
import { lagText, State, strategyText } from './state.tsx';

const route = getRouteApi('/segments');
const m = t.segments;
const EXAMPLE = `curl -X POST "$BASE/v1/segments" -H "Authorization: Bearer $SESSION" -H 'Content-Type: application/json' \\
  -d '{"name":"Depositors","definition":{"operator":"AND","conditions":[
    {"type":"trait","field":"total_deposited","op":"gt","value":0}]}}'`;

const COLUMNS: readonly Column<SegmentRecord>[] = [
  { key: 'name', title: m.columns.name, width: 'minmax(220px, 2fr)', cell: ({ name }) => <bdi>{name}</bdi> },
  {
    key: 'size',
    title: m.columns.size,
    width: '110px',
    align: 'right',
    cell: (row) => formatInt(row.estimated_size),
  },
  { key: 'strategy', title: m.columns.strategy, width: '190px', cell: strategyText },
  {
    key: 'evaluated',
    title: m.columns.evaluated,
    width: '190px',
    cell: ({ last_computed_at }) => <Time at={last_computed_at} ago />,
  },
  { key: 'lag', title: m.columns.lag, width: '90px', align: 'right', cell: lagText },
  { key: 'status', title: m.columns.status, width: '170px', cell: (row) => <State segment={row} /> },
  {
    key: 'error',
    title: m.columns.error,
    width: 'minmax(140px, 1fr)',
    cell: ({ last_error }) => <span title={last_error ?? undefined}>{last_error ?? '—'}</span>,
  },
];

/** All segments of the project, and whether each is up to date. */
export function Segments() {
  const { q = '' } = route.useSearch();
  const navigate = useNavigate({ from: '/segments' });
  const [text, setText] = useState(q);
  const { role } = usePlace();
  const wanted = text.trim().toLowerCase();
  const all = useSegments(wanted !== '');
  const { rows } = all;
  useEffect(() => {
    void navigate({
      search: (before) => ({ ...before, q: wanted === '' ? undefined : wanted }),
      replace: true,
    });
  }, [wanted, navigate]);
  const found = wanted === '' ? rows : rows?.filter(({ name }) => hasWords(name, wanted));
  const may_edit = roleAllows(role, 'editor');
  return (
    <Page
      title={m.title}
      actions={
        may_edit ? (
          <Link to="/segments/new" className={css['action']}>
            {m.create}
          </Link>
        ) : null
      }
    >
      <search>
        <Field label={m.search} hint={m.searchHint}>
          {(control) => (
            <input
              {...control}
              type="search"
              maxLength={200}
              value={text}
              onChange={({ target }) => setText(target.value)}
            />
          )}
        </Field>
      </search>
      <Listed
        pages={{ ...all, rows: found }}
        label={m.loading}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/segments/$id', params: { id } })}
        empty={
          wanted !== '' ? (
            <Empty title={m.noMatch} />
          ) : (
            <Empty title={m.none} call={EXAMPLE}>
              <p>{m.noneHelp}</p>
              {may_edit ? <Link to="/segments/new">{m.create}</Link> : null}
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
  const create = useChange('segments.create');
  return (
    <Examples
      examples={EXAMPLES}
      busy={create.isPending}
      error={create.error}
      make={(body) => create.mutateAsync({ inputs: [body] })}
      onMade={(id) => void navigate({ to: '/segments/$id', params: { id } })}
    />
  );
}
