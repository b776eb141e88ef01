import { useState } from 'react';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { usePlace } from '../../api/place.tsx';
import { useChange } from '../../api/queries.ts';
import { formatInt } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Field } from '../../ui/field.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { KEY_STATUSES, useApiKeys, type ApiKeyRecord } from './queries.ts';
import { Secret } from './secret.tsx';

const route = getRouteApi('/developers');
const m = t.developers;

/** The API keys of the project; for admins. */
export function Keys() {
  const { status } = route.useSearch();
  const navigate = useNavigate({ from: '/developers' });
  const shown = KEY_STATUSES.find((one) => one === status) ?? 'active';
  const [open, setOpen] = useState<'new' | ApiKeyRecord>();
  const columns: Column<ApiKeyRecord>[] = [
    { key: 'name', title: m.name, width: 'minmax(180px, 2fr)', cell: ({ name }) => <bdi>{name}</bdi> },
    {
      key: 'prefix',
      title: m.prefix,
      width: 'minmax(200px, 1fr)',
      cell: ({ prefix }) => <code>{prefix}</code>,
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
    shown === 'active'
      ? {
          key: 'revoke',
          title: m.action,
          width: '110px',
          cell: (row) => (
            <Button kind="quiet" onClick={() => setOpen(row)} aria-label={m.revokeOf(row.name)}>
              {m.revoke}
            </Button>
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
        <Button kind="primary" onClick={() => setOpen('new')}>
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
      {open === 'new' ? <NewKey onClose={() => setOpen(undefined)} /> : null}
      {typeof open === 'object' ? <Revoke of={open} onClose={() => setOpen(undefined)} /> : null}
    </>
  );
}

/** Makes a key and shows its secret, which no later answer has. */
function NewKey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const { project_id } = usePlace();
  const create = useChange('projects.apiKeys.create');
  const made = create.data?.data;
  if (made !== undefined) {
    return (
      <Secret title={m.made(made.name)} secret={made.key} what={m.secret} onClose={onClose}>
        <p>{m.onlyOnce}</p>
      </Secret>
    );
  }
  return (
    <ActDialog
      title={m.newKey}
      verb={m.createKey}
      busy={create.isPending}
      ready={name.trim() !== ''}
      error={create.error}
      onAct={() => create.mutate({ inputs: [project_id, { name: name.trim() }] })}
      onClose={onClose}
    >
      <p>{m.keyFor(usePlace().project_name)}</p>
      <Field label={m.name} hint={m.nameHint}>
        {(control) => (
          <input
            {...control}
            maxLength={200}
            dir="auto"
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        )}
      </Field>
    </ActDialog>
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
