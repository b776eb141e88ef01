import { Link, useNavigate } from '@tanstack/react-router';
import { writeExactly } from '../../api/json.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { AuditTab } from '../../ui/audit.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Copy } from '../../ui/copy.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { PlayerName } from '../../ui/player-name.tsx';
import { useMembers, useReferences, type Member, type Reference, type SegmentRecord } from './queries.ts';
import { ReadOnlyTree } from './read-only-tree.tsx';
import { useSayer } from './sayer.ts';
import css from './segments.module.css';

const m = t.segments;

interface TabProps {
  segment: SegmentRecord;
}

/** The definition in words, as JSON, and as the query that it is compiled to. */
export function Definition({ segment: { definition, compiled_query } }: TabProps) {
  const json = writeExactly(definition, 2);
  return (
    <>
      <ReadOnlyTree definition={definition} sayer={useSayer()} />
      <details>
        <summary>{m.json}</summary>
        <Copy text={json} what={m.definitionCopied} />
        <pre className={css['text']} tabIndex={0} role="group" aria-label={m.json}>
          {json}
        </pre>
      </details>
      <details>
        <summary>{m.query}</summary>
        <pre className={css['text']} tabIndex={0} role="group" aria-label={m.query}>
          {compiled_query}
        </pre>
      </details>
    </>
  );
}

/** The members; each opens the player. */
export function Members({ segment: { id } }: TabProps) {
  const navigate = useNavigate();
  const columns: Column<Member>[] = [
    {
      key: 'player',
      title: m.player,
      width: 'minmax(220px, 2fr)',
      cell: ({ external_id, player_id }) => <PlayerName id={player_id} external_id={external_id} />,
    },
    {
      key: 'status',
      title: m.columns.status,
      width: '150px',
      cell: ({ status }) => (
        <Badge tone={status === 'active' ? 'good' : 'shield'}>{t.players.statuses[status] ?? status}</Badge>
      ),
    },
    { key: 'tier', title: m.tier, width: '110px', cell: (row) => row.current_tier_code ?? '—' },
    { key: 'entered', title: m.entered, width: '210px', cell: ({ entered_at }) => <Time at={entered_at} /> },
    { key: 'seen', title: m.lastSeen, width: '210px', cell: (row) => <Time at={row.last_seen_at} /> },
  ];
  return (
    <Listed
      pages={useMembers(id)}
      label={m.tabs.members}
      columns={columns}
      keyOf={({ player_id }) => player_id}
      onOpen={({ player_id }) => void navigate({ to: '/players/$id', params: { id: player_id } })}
      empty={
        <Empty title={m.noMembers}>
          <p>{m.noMembersHelp}</p>
        </Empty>
      }
    />
  );
}

/** What uses the segment. */
export function References({ segment: { id } }: TabProps) {
  return (
    <Answered asked={useReferences(id)} what={m.tabs.references}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title={m.noReferences}>
            <p>{m.noReferencesHelp}</p>
          </Empty>
        ) : (
          <ReferenceTable references={data} />
        )
      }
    </Answered>
  );
}

/** Records that use a segment, by name; segments and journeys among them are links. */
export function ReferenceTable({ references }: { references: readonly Reference[] }) {
  return (
    <Table
      label={m.tabs.references}
      head={[m.columns.name, m.referenceType, m.columns.status]}
      rows={references.map(({ type, id, name, status }) => ({
        key: `${type} ${id}`,
        cells: [
          type === 'segment' ? (
            <Link key="name" to="/segments/$id" params={{ id }}>
              <bdi>{name}</bdi>
            </Link>
          ) : type === 'journey' ? (
            <Link key="name" to="/journeys/$id" params={{ id }}>
              <bdi>{name}</bdi>
            </Link>
          ) : (
            <bdi key="name">{name}</bdi>
          ),
          m.referenceTypes[type] ?? type,
          status ?? '—',
        ],
      }))}
    />
  );
}

/** Who changed the segment, and what. */
export function Audit({ segment: { id } }: TabProps) {
  return <AuditTab type="segment" id={id} />;
}
