import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useEffect, useState } from 'react';
import { oneOf } from '../../api/choices.ts';
import { useMoney } from '../../api/currencies.ts';
import type { FoundPlayer } from '@player-engagement/client/admin';
import { usePlayerSearch } from '../../api/player-search.ts';
import { mayBePersonal, playerName } from '../../format/mask.ts';
import { formatInt } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Field } from '../../ui/field.tsx';
import { Filter } from '../../ui/filter.tsx';
import { Grid, type Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { STATUSES, usePlayers, type PlayerRecord } from './queries.ts';
import { kycWords, Status } from './status.tsx';

const route = getRouteApi('/players');
const m = t.players;
const EXAMPLE = `curl -X POST "$BASE/v1/players/identify" -H "Authorization: Bearer $API_KEY" \\
  -H 'Content-Type: application/json' -d '{"anonymous_id":"device-1","external_id":"crm-1"}'`;

/** All players, or those that an id finds. */
export function Players() {
  const search = route.useSearch();
  const { q = '' } = search;
  const status = oneOf(STATUSES, search.status);
  const navigate = useNavigate({ from: '/players' });
  const [text, setText] = useState(q);
  const asked = useDeferredValue(text.trim());
  useEffect(() => {
    // Addresses are logged, shared and kept by browsers: nothing personal is in them.
    const shared = asked === '' || mayBePersonal(asked) ? undefined : asked;
    void navigate({ search: (before) => ({ ...before, q: shared }), replace: true });
  }, [asked, navigate]);
  const open = (id: string) => void navigate({ to: '/players/$id', params: { id } });
  return (
    <Page title={m.title}>
      <search>
        <Field label={m.search} hint={m.searchHint}>
          {(control) => (
            <input
              {...control}
              type="search"
              maxLength={200}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        <Filter
          label={m.status}
          value={status}
          any={m.anyStatus}
          options={STATUSES.map((one) => ({ value: one, name: m.statuses[one] ?? one }))}
          onChange={(chosen) => void navigate({ search: (before) => ({ ...before, status: chosen }) })}
        />
      </search>
      {asked.length >= 3 ? <Found q={asked} onOpen={open} /> : <All status={status} onOpen={open} />}
    </Page>
  );
}

function Found({ q, onOpen }: { q: string; onOpen: (id: string) => void }) {
  const found = usePlayerSearch(q);
  const columns: Column<FoundPlayer>[] = [
    { key: 'player', title: m.columns.player, width: 'minmax(220px, 2fr)', cell: (row) => playerName(row) },
    { key: 'by', title: m.search, width: '160px', cell: ({ matched_by }) => m.matchedBy(matched_by) },
    {
      key: 'status',
      title: m.columns.status,
      width: '160px',
      cell: ({ status }) => <Status status={status} />,
    },
  ];
  return (
    <Answered asked={found} what={m.loading}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title={m.noMatch}>
            <p>{m.noMatchHelp}</p>
          </Empty>
        ) : (
          <Grid
            label={m.title}
            rows={data}
            columns={columns}
            keyOf={({ id }) => id}
            onOpen={({ id }) => onOpen(id)}
          />
        )
      }
    </Answered>
  );
}

function All({
  status,
  onOpen,
}: {
  status: PlayerRecord['status'] | undefined;
  onOpen: (id: string) => void;
}) {
  const money = useMoney();
  const players = usePlayers(status);
  const amount = (key: string, title: string, of: (row: PlayerRecord) => string): Column<PlayerRecord> => ({
    key,
    title,
    width: '132px',
    align: 'right',
    cell: of,
  });
  const columns: Column<PlayerRecord>[] = [
    {
      key: 'player',
      title: m.columns.player,
      width: 'minmax(220px, 2fr)',
      cell: (row) => playerName(row),
    },
    { key: 'status', title: m.columns.status, width: '150px', cell: (row) => <Status status={row.status} /> },
    amount('deposited', m.columns.deposited, (row) => money.base(row.total_deposited)),
    amount('ggr', m.columns.ggr, (row) => money.base(row.ggr)),
    amount('ngr', m.columns.ngr, (row) => money.base(row.ngr)),
    amount('bets', m.columns.bets, (row) => formatInt(row.bet_count)),
    { key: 'tier', title: m.columns.tier, width: '100px', cell: (row) => row.current_tier_code ?? '—' },
    { key: 'kyc', title: m.columns.kyc, width: '110px', cell: (row) => kycWords(row.kyc_status) },
    { key: 'seen', title: m.columns.lastSeen, width: '200px', cell: (row) => <Time at={row.last_seen_at} /> },
  ];
  const empty =
    status === undefined ? (
      <Empty title={m.none} call={EXAMPLE}>
        <p>{m.noneHelp}</p>
      </Empty>
    ) : (
      <Empty title={m.noMatch} />
    );
  return (
    <Listed
      pages={players}
      label={m.loading}
      columns={columns}
      keyOf={({ id }) => id}
      onOpen={({ id }) => onOpen(id)}
      empty={empty}
    />
  );
}
