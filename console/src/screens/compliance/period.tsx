import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { formatInt } from '../../format/number.ts';
import { formatDay, fromLocalField } from '../../format/time.ts';
import { Time, useZone } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { downloadCsv } from '../../ui/csv.ts';
import { Field } from '../../ui/field.tsx';
import { Buttons } from '../../ui/form.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { PlayerName } from '../../ui/player-name.tsx';
import { Empty } from '../../ui/states.tsx';
import { State } from './exclusions.tsx';
import { usePeriodProof, type PeriodProof } from './queries.ts';

const route = getRouteApi('/compliance');
const m = t.compliance;
const p = m.period;
const WHEN = '210px';
const DAY = /^[1-9]\d{3}-\d\d-\d\d$/;

const COLUMNS: readonly Column<PeriodProof>[] = [
  {
    key: 'player',
    title: m.player,
    width: 'minmax(200px, 1fr)',
    cell: ({ external_id, player_id }) => <PlayerName id={player_id} external_id={external_id} />,
  },
  { key: 'kind', title: m.kind, width: '140px', cell: ({ kind }) => m.kinds[kind] },
  { key: 'state', title: m.state, width: '130px', cell: ({ state }) => <State state={state} /> },
  { key: 'accepted', title: m.accepted, width: WHEN, cell: ({ accepted_at }) => <Time at={accepted_at} /> },
  {
    key: 'until',
    title: m.until,
    width: WHEN,
    cell: ({ until }) => (until === null ? m.open : <Time at={until} />),
  },
  {
    key: 'given',
    title: p.given,
    width: '190px',
    cell: ({ messages, bonuses, is_complete }) => (
      <Badge tone={messages + bonuses > 0 ? 'bad' : is_complete ? 'good' : 'warn'}>
        {is_complete ? p.ofOne(messages, bonuses) : p.notWhole}
      </Badge>
    ),
  },
  { key: 'blocked', title: p.blocked, width: '110px', align: 'right', cell: (row) => formatInt(row.blocked) },
];

/** Whether anybody got anything while excluded in a period: every exclusion in force in it, one after the other. */
export function PeriodProofs() {
  const { from: asked_from, to: asked_to } = route.useSearch();
  const navigate = useNavigate({ from: '/compliance' });
  const { name: zone } = useZone();
  const today = formatDay(Date.now(), zone);
  const dayOf = (text: string | undefined, otherwise: string) =>
    text !== undefined && DAY.test(text) ? text : otherwise;
  const from = dayOf(asked_from, `${today.slice(0, 8)}01`);
  const to = dayOf(asked_to, today);
  const range = {
    from: fromLocalField(`${from}T00:00`, zone) ?? '',
    to: fromLocalField(`${dayAfter(to)}T00:00`, zone) ?? '',
  };
  const pages = usePeriodProof(range.from, range.to);
  const rows = pages.rows ?? [];
  const is_whole = pages.rows !== undefined && !pages.hasNextPage && pages.error === null;
  const change = (days: { from?: string } | { to?: string }) =>
    void navigate({ search: (before) => ({ ...before, ...days }), replace: true });
  const day = (name: 'from' | 'to', value: string) => (
    <Field label={name === 'from' ? p.from : p.to} hint={name === 'from' ? p.zone(zone) : undefined}>
      {(control) => (
        <input
          {...control}
          type="date"
          defaultValue={value}
          onChange={({ target }) => {
            if (DAY.test(target.value))
              change(name === 'from' ? { from: target.value } : { to: target.value });
          }}
        />
      )}
    </Field>
  );
  return (
    <>
      <search>
        {day('from', from)}
        {day('to', to)}
      </search>
      {is_whole ? (
        <>
          <Verdict rows={rows} from={from} to={to} />
          <Buttons>
            <Button onClick={() => downloadCsv(`${p.title} ${from} ${to}`, csvOf(rows))}>{m.csv}</Button>
            <Button onClick={() => window.print()}>{m.print}</Button>
          </Buttons>
        </>
      ) : pages.error === null ? (
        <p role="status">{p.reading(rows.length)}</p>
      ) : null}
      <Listed
        pages={pages}
        label={p.title}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        onOpen={({ player_id }) => void navigate({ to: '/compliance/$id', params: { id: player_id } })}
        empty={<Empty title={p.none} />}
      />
    </>
  );
}

function Verdict({ rows, from, to }: { rows: readonly PeriodProof[]; from: string; to: string }) {
  const sum = (of: (row: PeriodProof) => number) => rows.reduce((total, row) => total + of(row), 0);
  const [messages, bonuses] = [sum((row) => row.messages), sum((row) => row.bonuses)];
  const players = new Set(rows.map(({ merged_into, player_id }) => merged_into ?? player_id)).size;
  const unproved = rows.filter(({ is_complete }) => !is_complete).length;
  return (
    <div role="status">
      <p>
        <Badge tone={messages + bonuses > 0 ? 'bad' : unproved > 0 ? 'warn' : 'good'}>
          {p.verdict(messages, bonuses, players, from, to)}
        </Badge>
      </p>
      <p>
        {p.counts(
          rows.length,
          sum((row) => row.blocked),
          sum((row) => row.under_way),
        )}
      </p>
      {unproved === 0 ? null : <p>{p.incomplete(unproved)}</p>}
    </div>
  );
}

function dayAfter(day: string): string {
  const at = new Date(`${day}T00:00:00Z`);
  at.setUTCDate(at.getUTCDate() + 1);
  return at.toISOString().slice(0, 10);
}

function csvOf(rows: readonly PeriodProof[]): string[][] {
  return [
    [
      m.playerId,
      m.player,
      m.kind,
      m.accepted,
      m.until,
      p.messages,
      p.bonuses,
      p.underWay,
      p.blocked,
      p.whole,
    ],
    ...rows.map((row) => [
      row.player_id,
      row.external_id ?? '',
      m.kinds[row.kind],
      row.accepted_at,
      row.until ?? m.open,
      String(row.messages),
      String(row.bonuses),
      String(row.under_way),
      String(row.blocked),
      String(row.is_complete),
    ]),
  ];
}
