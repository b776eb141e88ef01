import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { useMoney } from '../../api/currencies.ts';
import { formatValue } from '../../format/value.ts';
import { fromUtcField } from '../../format/time.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { PlayerName } from '../../ui/player-name.tsx';
import { useEventSearch, type FoundEvent } from './queries.ts';
import { Trace } from './trace.tsx';

const route = getRouteApi('/events');
const m = t.events;
const FIELDS = ['event', 'player', 'from', 'to'] as const;
const LABELS = { event: m.name, player: m.player, from: m.fromUtc, to: m.toUtc };

/** Events of the past by name, player and time; the address holds what was asked. */
export function Search() {
  const { event, player, from, to } = route.useSearch();
  const navigate = useNavigate({ from: '/events' });
  const money = useMoney();
  const found = useEventSearch({ event, player_id: player, from: fromUtcField(from), to: fromUtcField(to) });
  const ask = (submitted: FormEvent<HTMLFormElement>) => {
    submitted.preventDefault();
    const form = new FormData(submitted.currentTarget);
    const asked = Object.fromEntries(FIELDS.map((name) => [name, textOf(form.get(name))]));
    void navigate({ search: (before) => ({ ...before, ...asked }) });
  };
  const columns: Column<FoundEvent>[] = [
    { key: 'at', title: m.at, width: '210px', cell: ({ timestamp }) => <Time at={timestamp} /> },
    { key: 'event', title: m.name, width: '200px', cell: (row) => row.event },
    {
      key: 'player',
      title: m.player,
      width: '220px',
      cell: ({ player_id }) => <PlayerName id={player_id} />,
    },
    {
      key: 'amount',
      title: m.amount,
      width: '130px',
      align: 'right',
      cell: ({ base_amount }) => (base_amount === null ? '—' : money.base(base_amount)),
    },
    {
      key: 'properties',
      title: m.properties,
      width: 'minmax(300px, 1fr)',
      cell: ({ properties }) => <code>{formatValue(properties)}</code>,
    },
  ];
  return (
    <>
      {/* Keyed by the address, so that the fields follow the browser's back button. */}
      <form key={[event, player, from, to].join('\n')} onSubmit={ask} role="search">
        <search>
          {FIELDS.map((name) => (
            <Field key={name} label={LABELS[name]}>
              {(control) => (
                <input
                  {...control}
                  name={name}
                  type={name === 'from' || name === 'to' ? 'datetime-local' : 'search'}
                  defaultValue={{ event, player, from, to }[name] ?? ''}
                />
              )}
            </Field>
          ))}
          <Button type="submit" kind="primary">
            {m.search}
          </Button>
        </search>
      </form>
      <Listed
        pages={found}
        label={m.loading}
        columns={columns}
        keyOf={({ ingestion_id, index }) => `${ingestion_id}/${index}`}
        onOpen={({ ingestion_id, index }) =>
          void navigate({ search: (before) => ({ ...before, trace: `${ingestion_id}/${index}` }) })
        }
        empty={
          <Empty title={m.none}>
            <p>{m.noneHelp}</p>
          </Empty>
        }
      />
      <Trace />
    </>
  );
}

function textOf(value: FormDataEntryValue | null): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}
