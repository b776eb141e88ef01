import { wordsOf } from '../../format/code-words.ts';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { usePlace } from '../../api/place.tsx';
import { roleAllows } from '../../api/session.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { downloadCsv } from '../../ui/csv.ts';
import { Buttons } from '../../ui/form.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { PlayerName } from '../../ui/player-name.tsx';
import { Exclude } from './exclude.tsx';
import { Filters, TIMES, type Filter } from './filters.tsx';
import {
  BLOCKING_CODES,
  useBlockedSends,
  useExclusions,
  type BlockedSend,
  type Exclusion,
} from './queries.ts';

const route = getRouteApi('/compliance');
const m = t.compliance;
const WHEN = '210px';

const FILTERS: readonly Filter[] = [
  { name: 'state', label: m.state, type: 'text', choices: m.states },
  { name: 'kind', label: m.kind, type: 'text', choices: m.kinds },
  { name: 'player', label: m.player, type: 'player' },
  ...TIMES,
];

const COLUMNS: readonly Column<Exclusion>[] = [
  {
    key: 'player',
    title: m.player,
    width: 'minmax(200px, 1fr)',
    cell: ({ external_id, player_id }) => <PlayerName id={player_id} external_id={external_id} />,
  },
  { key: 'kind', title: m.kind, width: '140px', cell: ({ kind }) => m.kinds[kind] },
  { key: 'state', title: m.state, width: '130px', cell: ({ state }) => <State state={state} /> },
  { key: 'since', title: m.since, width: WHEN, cell: ({ since }) => <Time at={since} /> },
  { key: 'accepted', title: m.accepted, width: WHEN, cell: ({ accepted_at }) => <Time at={accepted_at} /> },
  {
    key: 'until',
    title: m.until,
    width: WHEN,
    cell: ({ until }) => (until === null ? m.open : <Time at={until} />),
  },
  { key: 'cause', title: m.cause, width: '180px', cell: ({ cause }) => m.sources[cause.source] },
];

/** Whether an exclusion is in force. */
export function State({ state }: { state: Exclusion['state'] }) {
  return <Badge tone={state === 'active' ? 'shield' : 'neutral'}>{m.states[state]}</Badge>;
}

/** Who is or was excluded; a row opens the proof. */
export function Exclusions() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: '/compliance' });
  const listed = useExclusions(search);
  const is_filtered = FILTERS.some(({ name }) => search[name] !== undefined);
  const { role } = usePlace();
  const [excludes, setExcludes] = useState(false);
  const openProof = (id: string) => void navigate({ to: '/compliance/$id', params: { id } });
  return (
    <>
      <Filters filters={FILTERS} values={search} />
      {roleAllows(role, 'compliance') ? (
        <Buttons>
          <Button onClick={() => setExcludes(true)}>{m.officer.exclude}</Button>
        </Buttons>
      ) : null}
      {excludes ? <Exclude onClose={() => setExcludes(false)} onDone={openProof} /> : null}
      <Listed
        pages={listed}
        label={m.loading}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        onOpen={({ player_id }) => openProof(player_id)}
        empty={
          is_filtered ? (
            <Empty title={m.noMatch} />
          ) : (
            <Empty title={m.noExclusions}>
              <p>{m.noExclusionsHelp}</p>
            </Empty>
          )
        }
      />
    </>
  );
}

const BLOCKED_FILTERS: readonly Filter[] = [
  {
    name: 'code',
    label: m.code,
    type: 'text',
    choices: Object.fromEntries(BLOCKING_CODES.map((code) => [code, wordsOf(code)])),
  },
  { name: 'player', label: m.player, type: 'player' },
  ...TIMES,
];

const BLOCKED_COLUMNS: readonly Column<BlockedSend>[] = [
  { key: 'at', title: m.made, width: WHEN, cell: ({ at }) => <Time at={at} /> },
  {
    key: 'player',
    title: m.player,
    width: 'minmax(200px, 1fr)',
    cell: ({ external_id, player_id }) => <PlayerName id={player_id} external_id={external_id} />,
  },
  { key: 'code', title: m.code, width: '240px', cell: ({ code }) => wordsOf(code) },
  { key: 'channel', title: m.channel, width: '100px', cell: ({ channel }) => t.names.channels[channel] },
  {
    key: 'origin',
    title: m.origin,
    width: 'minmax(180px, 1fr)',
    cell: ({ campaign_name, journey_name }) => <bdi>{campaign_name ?? journey_name ?? '—'}</bdi>,
  },
];

/** Messages that were held back in order to protect their players; a row opens the proof. */
export function Blocked() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: '/compliance' });
  const listed = useBlockedSends(search);
  const rows = listed.rows ?? [];
  const csv = () =>
    downloadCsv(m.tabs.blocked, [
      [m.made, m.playerId, m.player, m.code, m.channel, m.origin],
      ...rows.map((row) => [
        row.at,
        row.player_id,
        row.external_id ?? '',
        row.code,
        row.channel,
        row.campaign_name ?? row.journey_name ?? '',
      ]),
    ]);
  return (
    <>
      <Filters filters={BLOCKED_FILTERS} values={search} />
      {rows.length === 0 ? null : (
        <Button kind="quiet" onClick={csv}>
          {m.csv}
        </Button>
      )}
      <Listed
        pages={listed}
        label={m.tabs.blocked}
        columns={BLOCKED_COLUMNS}
        keyOf={({ id }) => id}
        onOpen={({ player_id }) => void navigate({ to: '/compliance/$id', params: { id: player_id } })}
        empty={
          <Empty title={m.noBlocked}>
            <p>{m.noBlockedHelp}</p>
          </Empty>
        }
      />
    </>
  );
}
