import { useState } from 'react';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { usePlace } from '../../api/place.tsx';
import { useChange } from '../../api/queries.ts';
import { formatInt } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Field } from '../../ui/field.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { ChangeKey, NewKey } from './key-dialogs.tsx';
import { KEY_STATUSES, useApiKeys, type ApiKeyRecord } from './queries.ts';

const route = getRouteApi('/developers');
const m = t.developers;

/** The open dialog, and the key that it is about: `new` may have one that the new key replaces. */
interface Open {
  dialog: 'new' | 'change' | 'revoke';
  of?: ApiKeyRecord;
}

/** The API keys of the project; for admins. */
export function Keys() {
  const { status } = route.useSearch();
  const navigate = useNavigate({ from: '/developers' });
  const shown = KEY_STATUSES.find((one) => one === status) ?? 'active';
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const columns: Column<ApiKeyRecord>[] = [
    { key: 'name', title: m.name, width: 'minmax(180px, 2fr)', cell: ({ name }) => <bdi>{name}</bdi> },
    {
      key: 'prefix',
      title: m.prefix,
      width: 'minmax(200px, 1fr)',
      cell: ({ prefix }) => <code>{prefix}</code>,
    },
    {
      key: 'kind',
      title: m.kind,
      width: 'minmax(160px, 1fr)',
      cell: ({ kind, allowed_origins }) => (
        <>
          <Badge tone={kind === 'client' ? 'accent' : 'neutral'}>{m.kindNames[kind]}</Badge>{' '}
          {allowed_origins.join(', ')}
        </>
      ),
    },
    {
      key: 'rate',
      title: m.rate,
      width: '170px',
      cell: ({ ingest_rate }) =>
        ingest_rate === null ? m.defaultRate : m.perMinute(formatInt(ingest_rate.per_minute)),
    },
    { key: 'created', title: m.created, width: '210px', cell: (row) => <Time at={row.created_at} ago /> },
    {
      key: 'used',
      title: m.lastUsed,
      width: '210px',
      cell: ({ last_used_at }) => (last_used_at === null ? m.neverUsed : <Time at={last_used_at} ago />),
    },
    {
      key: 'by',
      title: m.usedBy,
      width: '170px',
      cell: ({ last_used_by }) => last_used_by.map(({ client }) => m.clients[client]).join(', '),
    },
    {
      key: 'ends',
      title: m.ends,
      width: '210px',
      cell: ({ expires_at }) => (expires_at === null ? m.noEnd : <Time at={expires_at} ago />),
    },
    shown === 'active'
      ? {
          key: 'revoke',
          title: m.action,
          width: '280px',
          cell: (of) => (
            <>
              <Button
                kind="quiet"
                onClick={() => setOpen({ dialog: 'change', of })}
                aria-label={m.changeOf(of.name)}
              >
                {m.change}
              </Button>
              <Button
                kind="quiet"
                onClick={() => setOpen({ dialog: 'new', of })}
                aria-label={m.replaceOf(of.name)}
              >
                {m.replace}
              </Button>
              <Button
                kind="quiet"
                onClick={() => setOpen({ dialog: 'revoke', of })}
                aria-label={m.revokeOf(of.name)}
              >
                {m.revoke}
              </Button>
            </>
          ),
        }
      : { key: 'revoked', title: m.revoked, width: '210px', cell: (row) => <Time at={row.deleted_at} ago /> },
  ];
  return (
    <>
      <search>
        <Field label={m.status}>
          {(control) => (
            <select
              {...control}
              value={shown}
              onChange={({ target }) =>
                void navigate({ search: (before) => ({ ...before, status: target.value }) })
              }
            >
              {KEY_STATUSES.map((one) => (
                <option key={one} value={one}>
                  {m.keyStatuses[one]}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Button kind="primary" onClick={() => setOpen({ dialog: 'new' })}>
          {m.newKey}
        </Button>
      </search>
      <Listed
        pages={useApiKeys(shown)}
        label={m.tabs.keys}
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          shown === 'revoked' ? (
            <Empty title={m.noRevoked} />
          ) : (
            <Empty title={m.noKeys}>
              <p>{m.noKeysHelp}</p>
            </Empty>
          )
        }
      />
      {open?.dialog === 'new' ? <NewKey like={open.of} onClose={close} /> : null}
      {open?.dialog === 'change' && open.of !== undefined ? <ChangeKey of={open.of} onClose={close} /> : null}
      {open?.dialog === 'revoke' && open.of !== undefined ? <Revoke of={open.of} onClose={close} /> : null}
    </>
  );
}

function Revoke({ of, onClose }: { of: ApiKeyRecord; onClose: () => void }) {
  const { project_id } = usePlace();
  const revoke = useChange('projects.apiKeys.delete');
  return (
    <Confirm
      title={m.revokeTitle(of.name)}
      verb={m.revokeVerb}
      busy={revoke.isPending}
      error={revoke.error}
      onClose={onClose}
      onConfirm={() => revoke.mutate({ inputs: [project_id, of.id] }, { onSuccess: onClose })}
    >
      <p>{m.revokeText}</p>
      <p>
        <code>{of.prefix}</code>
      </p>
    </Confirm>
  );
}
