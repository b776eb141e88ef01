import type { AuditLogEntry } from '@player-engagement/client';
import type { ComponentProps, ReactNode } from 'react';
import { usePlace } from '../api/place.tsx';
import { useList } from '../api/queries.ts';
import { roleAllows } from '../api/session.ts';
import { formatMasked } from '../format/value.ts';
import { Time } from '../format/zone.tsx';
import { t } from '../messages/t.ts';
import type { Column } from './grid.tsx';
import { Listed } from './listed.tsx';
import { Empty } from './states.tsx';
import { Tabs } from './tabs.tsx';

const m = t.audit;

/** A record of the API, as the audit log names it. */
export interface AuditedRecord {
  type: AuditLogEntry['resource_type'];
  id: string;
}

const COLUMNS: readonly Column<AuditLogEntry>[] = [
  { key: 'at', title: m.when, width: '210px', cell: ({ occurred_at }) => <Time at={occurred_at} /> },
  {
    key: 'who',
    title: m.who,
    width: '180px',
    cell: ({ actor }) => <bdi>{actor.kind === 'session' ? actor.user_id : m.internal}</bdi>,
  },
  { key: 'action', title: m.action, width: '120px', cell: ({ action }) => action },
  {
    key: 'changes',
    title: m.changes,
    width: 'minmax(300px, 1fr)',
    cell: ({ before, after }) => <code>{`${formatMasked(before)} → ${formatMasked(after)}`}</code>,
  },
];

/** Who changed a record, and what: for those who may read the audit log. */
export function AuditTab(record: AuditedRecord) {
  const { role } = usePlace();
  return roleAllows(role, 'compliance') ? <Changes {...record} /> : <Empty title={m.needsOfficer} />;
}

function Changes({ type, id }: AuditedRecord) {
  return (
    <Listed
      pages={useList('auditLog.list', [{ resource_type: type, resource_id: id }])}
      label={m.title}
      columns={COLUMNS}
      keyOf={(row) => row.id}
      empty={<Empty title={m.none} />}
    />
  );
}

/** The address of the tab with who changed a record. */
const AUDIT = 'audit';

type LinkOf = ComponentProps<typeof Tabs>['link'];

interface WithAuditProps {
  /** What the record is. */
  label: string;
  type: AuditedRecord['type'];
  /** Undefined: it is new, and nobody has changed it. */
  id: string | undefined;
  /** The tab in the address; anything but that of the audit is the record itself. */
  tab: string | undefined;
  link: (tab: string | undefined, props: Parameters<LinkOf>[1]) => ReactNode;
  children: ReactNode;
}

/** A record whose page has no other parts, with a tab beside it that says who changed it. */
export function WithAudit({ label, type, id, tab, link, children }: WithAuditProps) {
  if (id === undefined) return children;
  return (
    <Tabs
      label={label}
      current={tab === AUDIT ? AUDIT : 'record'}
      tabs={[
        { key: 'record', title: m.record },
        { key: AUDIT, title: m.title },
      ]}
      link={(key, props) => link(key === AUDIT ? AUDIT : undefined, props)}
    >
      {tab === AUDIT ? <AuditTab type={type} id={id} /> : children}
    </Tabs>
  );
}
