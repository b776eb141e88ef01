import { useNavigate } from '@tanstack/react-router';
import { usePlace } from '../../api/place.tsx';
import { roleAllows } from '../../api/session.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { PlayerName } from '../../ui/player-name.tsx';
import { useErasures, type Erasure } from './queries.ts';

const m = t.compliance.erasures;
const WHEN = '210px';

const COLUMNS: readonly Column<Erasure>[] = [
  { key: 'requested', title: m.requested, width: WHEN, cell: (row) => <Time at={row.requested_at} /> },
  {
    key: 'player',
    title: t.compliance.playerId,
    width: 'minmax(200px, 1fr)',
    cell: ({ player_id }) => <PlayerName id={player_id} />,
  },
  {
    key: 'status',
    title: t.compliance.state,
    width: '150px',
    cell: ({ status, last_error }) => (
      <Badge tone={status === 'done' ? 'good' : last_error === null ? 'neutral' : 'warn'}>
        {m.statuses[status]}
      </Badge>
    ),
  },
  {
    key: 'reason',
    title: m.reason,
    width: 'minmax(180px, 1fr)',
    cell: ({ reason, last_error }) => <bdi>{last_error ?? reason}</bdi>,
  },
  { key: 'basis', title: m.basis, width: '180px', cell: ({ basis }) => <bdi>{basis}</bdi> },
  { key: 'by', title: m.by, width: '160px', cell: ({ requested_by }) => <bdi>{requested_by}</bdi> },
  {
    key: 'done',
    title: m.done,
    width: WHEN,
    cell: ({ completed_at }) => (completed_at === null ? '—' : <Time at={completed_at} />),
  },
];

/** Who was erased, why, and how far it is, for those who may read it; a row opens what is left of the player. */
export function Erasures() {
  const { role } = usePlace();
  return roleAllows(role, 'compliance') ? <ErasureList /> : <Empty title={m.needsOfficer} />;
}

function ErasureList() {
  const navigate = useNavigate({ from: '/compliance' });
  return (
    <Listed
      pages={useErasures()}
      label={t.compliance.tabs.erasures}
      columns={COLUMNS}
      keyOf={({ id }) => id}
      onOpen={({ player_id }) => void navigate({ to: '/players/$id', params: { id: player_id } })}
      empty={
        <Empty title={m.none}>
          <p>{m.noneHelp}</p>
        </Empty>
      }
    />
  );
}
