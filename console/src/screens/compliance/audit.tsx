import { getRouteApi } from '@tanstack/react-router';
import { usePlace } from '../../api/place.tsx';
import { roleAllows } from '../../api/session.ts';
import { t } from '../../messages/t.ts';
import { AuditList } from '../../ui/audit.tsx';
import { Empty } from '../../ui/states.tsx';
import { Filters, TIMES, type Filter } from './filters.tsx';
import { ACTIONS, useAuditLog } from './queries.ts';

const route = getRouteApi('/compliance');

const FILTERS: readonly Filter[] = [
  { name: 'user', label: t.audit.who, type: 'id' },
  {
    name: 'action',
    label: t.audit.action,
    type: 'text',
    choices: Object.fromEntries(ACTIONS.map((action) => [action, t.audit.actions[action]])),
  },
  { name: 'resource', label: t.audit.resourceId, type: 'id' },
  ...TIMES,
];

/** Every change in the tenant, for those who may read it. */
export function AuditLog() {
  const { role } = usePlace();
  return roleAllows(role, 'compliance') ? <Changes /> : <Empty title={t.audit.needsOfficer} />;
}

function Changes() {
  const search = route.useSearch();
  return (
    <>
      <Filters filters={FILTERS} values={search} />
      <AuditList
        pages={useAuditLog(search)}
        label={t.audit.title}
        with_record
        empty={<Empty title={t.audit.none} />}
      />
    </>
  );
}
