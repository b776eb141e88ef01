import { getRouteApi } from '@tanstack/react-router';
import { usePlace } from '../../api/place.tsx';
import { roleAllows } from '../../api/session.ts';
import { formatMasked } from '../../format/value.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { Filters, TIMES, type Filter } from './filters.tsx';
import { ACTIONS, useAuditLog, type AuditEntry } from './queries.ts';

const route = getRouteApi('/compliance');
const m = t.compliance.audit;

const FILTERS: readonly Filter[] = [
  { name: 'user', label: m.who, type: 'id' },
  {
    name: 'action',
    label: m.action,
    type: 'text',
    choices: Object.fromEntries(ACTIONS.map((action) => [action, action])),
  },
  { name: 'resource', label: m.resourceId, type: 'id' },
  ...TIMES,
];

const COLUMNS: readonly Column<AuditEntry>[] = [
  { key: 'at', title: m.when, width: '210px', cell: ({ occurred_at }) => <Time at={occurred_at} /> },
  {
    key: 'who',
    title: m.who,
    width: '180px',
    cell: ({ actor }) => <bdi>{actor.kind === 'session' ? actor.user_id : actor.kind}</bdi>,
  },
  { key: 'action', title: m.action, width: '120px', cell: ({ action }) => action },
  { key: 'resource', title: m.resource, width: '150px', cell: ({ resource_type }) => resource_type },
  {
    key: 'id',
    title: m.resourceId,
    width: '300px',
    cell: ({ resource_id }) => <code>{resource_id}</code>,
  },
  {
    key: 'changes',
    title: m.changes,
    width: 'minmax(300px, 1fr)',
    cell: ({ before, after }) => <code>{`${formatMasked(before)} → ${formatMasked(after)}`}</code>,
  },
];

/** Every change in the tenant, for those who may read it. */
export function AuditLog() {
  const { role } = usePlace();
  return roleAllows(role, 'compliance') ? <Changes /> : <Empty title={m.needsOfficer} />;
}

function Changes() {
  const search = route.useSearch();
  return (
    <>
      <Filters filters={FILTERS} values={search} />
      <Listed
        pages={useAuditLog(search)}
        label={t.compliance.tabs.audit}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        empty={<Empty title={m.none} />}
      />
    </>
  );
}
