import { Link } from '@tanstack/react-router';
import { usePlace } from '../../api/place.tsx';
import { roleAllows } from '../../api/session.ts';
import { formatValue } from '../../format/value.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { useHistory, useReferences, type AuditRecord } from './queries.ts';

const m = t.templates;

/** The campaigns and journeys that use the template. */
export function UsedBy({ id }: { id: string }) {
  return (
    <Answered asked={useReferences(id)} what={m.tabs.usedBy}>
      {({ data: { campaigns, journeys } }) =>
        campaigns.length + journeys.length === 0 ? (
          <Empty title={m.usedByNothing} />
        ) : (
          <Table
            label={m.tabs.usedBy}
            head={[m.kind, m.name, m.status]}
            rows={[
              ...campaigns.map((row) => ({
                key: row.id,
                cells: [
                  m.kinds.campaign,
                  <Link key="link" to="/campaigns/$id" params={{ id: row.id }}>
                    <bdi>{row.name}</bdi>
                  </Link>,
                  row.status,
                ],
              })),
              ...journeys.map((row) => ({
                key: row.id,
                cells: [
                  m.kinds.journey,
                  <Link key="link" to="/journeys/$id" params={{ id: row.id }}>
                    <bdi>{row.name}</bdi>
                  </Link>,
                  row.status,
                ],
              })),
            ]}
          />
        )
      }
    </Answered>
  );
}

/** Who changed the template, and what. The audit log is for administrators. */
export function History({ id }: { id: string }) {
  const { role } = usePlace();
  return roleAllows(role, 'compliance') ? <Changes id={id} /> : <Empty title={m.historyForAdmins} />;
}

function Changes({ id }: { id: string }) {
  const columns: Column<AuditRecord>[] = [
    { key: 'at', title: m.when, width: '210px', cell: ({ occurred_at }) => <Time at={occurred_at} /> },
    {
      key: 'who',
      title: m.who,
      width: '180px',
      cell: ({ actor }) => (actor.kind === 'session' ? actor.user_id : actor.kind),
    },
    { key: 'action', title: m.action, width: '120px', cell: ({ action }) => action },
    {
      key: 'changes',
      title: m.changes,
      width: 'minmax(300px, 1fr)',
      cell: ({ before, after }) => <code>{`${formatValue(before)} → ${formatValue(after)}`}</code>,
    },
  ];
  return (
    <Listed
      pages={useHistory(id)}
      label={m.tabs.history}
      columns={columns}
      keyOf={(row) => row.id}
      empty={<Empty title={m.noHistory} />}
    />
  );
}
