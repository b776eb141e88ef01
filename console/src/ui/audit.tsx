import type { AuditLogEntry } from '@player-engagement/client/admin';
import { useState, type ComponentProps, type ReactNode } from 'react';
import { writeExactly } from '../api/json.ts';
import { usePlace } from '../api/place.tsx';
import { useList } from '../api/queries.ts';
import { roleAllows } from '../api/session.ts';
import { fieldChanges } from '../format/field-changes.ts';
import { Time } from '../format/zone.tsx';
import { t } from '../messages/t.ts';
import { Id } from './copy.tsx';
import { Dialog } from './dialog.tsx';
import { Facts } from './facts.tsx';
import type { Column } from './grid.tsx';
import { Listed } from './listed.tsx';
import { Empty } from './states.tsx';
import { Table } from './table.tsx';
import { Tabs } from './tabs.tsx';

const m = t.audit;
/** Characters of a row of the list; the drawer has all. */
const SHOWN = 400;

/** A record of the API, as the audit log names it. */
export interface AuditedRecord {
  type: AuditLogEntry['resource_type'];
  id: string;
}

const whoOf = ({ actor }: AuditLogEntry) => (actor.kind === 'session' ? actor.user_id : m.internal);
const typeOf = ({ resource_type }: AuditLogEntry) => m.resources[resource_type];
const sideOf = (value: unknown) => (value === undefined ? '—' : writeExactly(value));

/** Columns of entries; those of many records also name the record. */
function columnsOf(with_record: boolean): Column<AuditLogEntry>[] {
  const of_record: Column<AuditLogEntry>[] = [
    { key: 'resource', title: m.resource, width: '150px', cell: typeOf },
    { key: 'id', title: m.resourceId, width: '300px', cell: ({ resource_id }) => <code>{resource_id}</code> },
  ];
  return [
    { key: 'at', title: m.when, width: '210px', cell: ({ occurred_at }) => <Time at={occurred_at} /> },
    { key: 'who', title: m.who, width: '180px', cell: (entry) => <bdi>{whoOf(entry)}</bdi> },
    { key: 'action', title: m.action, width: '150px', cell: ({ action }) => m.actions[action] },
    ...(with_record ? of_record : []),
    {
      key: 'changes',
      title: m.fields,
      width: 'minmax(300px, 1fr)',
      cell: ({ before, after }) =>
        fieldChanges(before, after)
          .map((one) => m.change(one.path, sideOf(one.before), sideOf(one.after)))
          .join('; ')
          .slice(0, SHOWN),
    },
  ];
}

interface AuditListProps extends Omit<
  ComponentProps<typeof Listed<AuditLogEntry>>,
  'columns' | 'keyOf' | 'onOpen'
> {
  /** The entries are of many records. */
  with_record?: boolean;
}

/** Entries of the audit log; each opens with what it has changed, field by field. */
export function AuditList({ with_record = false, ...rest }: AuditListProps) {
  const [opened, setOpened] = useState<AuditLogEntry>();
  return (
    <>
      <Listed {...rest} columns={columnsOf(with_record)} keyOf={({ id }) => id} onOpen={setOpened} />
      {opened === undefined ? null : <Entry of={opened} onClose={() => setOpened(undefined)} />}
    </>
  );
}

function Entry({ of: entry, onClose }: { of: AuditLogEntry; onClose: () => void }) {
  const changes = fieldChanges(entry.before, entry.after);
  return (
    <Dialog title={m.entry(m.actions[entry.action], typeOf(entry))} as="drawer" onClose={onClose}>
      <Facts
        label={m.title}
        facts={[
          [m.when, <Time key="at" at={entry.occurred_at} />],
          [m.who, <bdi key="who">{whoOf(entry)}</bdi>],
          [m.resourceId, <Id key="id" value={entry.resource_id} what={m.resourceId} />],
          [t.states.requestId, <Id key="request" value={entry.request_id} what={t.states.requestId} />],
        ]}
      />
      {changes.length === 0 ? (
        <p>{m.noFields}</p>
      ) : (
        <Table
          label={m.fields}
          wraps
          head={[m.field, m.before, m.after]}
          rows={changes.map(({ path, before, after }) => ({
            key: path,
            cells: [
              <code key="field">{path}</code>,
              <bdi key="before">{sideOf(before)}</bdi>,
              <bdi key="after">{sideOf(after)}</bdi>,
            ],
          }))}
        />
      )}
    </Dialog>
  );
}

/** Who changed a record, and what: for those who may read the audit log. */
export function AuditTab(record: AuditedRecord) {
  const { role } = usePlace();
  return roleAllows(role, 'compliance') ? <Changes {...record} /> : <Empty title={m.needsOfficer} />;
}

function Changes({ type, id }: AuditedRecord) {
  return (
    <AuditList
      pages={useList('auditLog.list', [{ resource_type: type, resource_id: id }])}
      label={m.title}
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
  /** A further part of the record, with the name of its tab in the address. */
  part?: { key: string; title: string; content: ReactNode };
  children: ReactNode;
}

const RECORD = 'record';

/** A record whose page has at most one other part, with a tab that says who changed it. */
export function WithAudit({ label, type, id, tab, link, part, children }: WithAuditProps) {
  if (id === undefined) return children;
  const shown = tab === AUDIT || (part !== undefined && tab === part.key) ? tab : RECORD;
  return (
    <Tabs
      label={label}
      current={shown}
      tabs={[
        { key: RECORD, title: m.record },
        ...(part === undefined ? [] : [part]),
        { key: AUDIT, title: m.title },
      ]}
      link={(key, props) => link(key === RECORD ? undefined : key, props)}
    >
      {shown === RECORD ? children : shown === AUDIT ? <AuditTab type={type} id={id} /> : part?.content}
    </Tabs>
  );
}
