import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useMayEdit, usePlace } from '../../api/place.tsx';
import { useChange } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { formatInt } from '../../format/number.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { NewProvider, TestProvider } from './provider-dialogs.tsx';
import { ProviderPage } from './provider-page.tsx';
import { ProviderState } from './provider-state.tsx';
import { useProviders, type ProviderRecord } from './queries.ts';

const route = getRouteApi('/settings');
const m = t.settings;

type Open = { act: 'new' } | { act: 'status' | 'test' | 'remove'; provider: ProviderRecord };

/** The services that deliver messages, or the one that the address names. */
export function Providers() {
  const { provider } = route.useSearch();
  const navigate = useNavigate({ from: '/settings' });
  const open = (id: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, provider: id }) });
  return provider === undefined ? (
    <List onOpen={open} />
  ) : (
    <ProviderPage key={provider} id={provider} onBack={() => open(undefined)} />
  );
}

/** All providers, each with a test. */
function List({ onOpen }: { onOpen: (id: string) => void }) {
  const [open, setOpen] = useState<Open>();
  const may_edit = useMayEdit();
  const is_admin = roleAllows(usePlace().role, 'admin');
  const act = (provider: ProviderRecord, which: 'status' | 'test' | 'remove', text: string) => (
    <Button
      kind="quiet"
      aria-label={m.actOn(text, provider.name)}
      onClick={() => setOpen({ act: which, provider })}
    >
      {text}
    </Button>
  );
  const columns: Column<ProviderRecord>[] = [
    { key: 'name', title: m.name, width: 'minmax(180px, 2fr)', cell: ({ name }) => <bdi>{name}</bdi> },
    { key: 'kind', title: m.kind, width: '110px', cell: ({ kind }) => kind },
    { key: 'channel', title: m.channel, width: '90px', cell: ({ channel }) => t.names.channels[channel] },
    {
      key: 'status',
      title: m.state,
      width: '180px',
      cell: (row) => <ProviderState of={row} />,
    },
    {
      key: 'rate',
      title: m.perSecond,
      width: '110px',
      align: 'right',
      cell: ({ rate_per_second }) => (rate_per_second === null ? '—' : formatInt(rate_per_second)),
    },
    ...(may_edit
      ? [
          {
            key: 'act',
            title: m.action,
            width: '260px' as const,
            cell: (row: ProviderRecord) => (
              <>
                {act(row, 'test', m.test)}
                {is_admin ? act(row, 'status', row.status === 'active' ? m.pause : m.activate) : null}
                {is_admin ? act(row, 'remove', m.remove) : null}
              </>
            ),
          },
        ]
      : []),
  ];
  const close = () => setOpen(undefined);
  return (
    <>
      {is_admin ? (
        <search>
          <Button kind="primary" onClick={() => setOpen({ act: 'new' })}>
            {m.newProvider}
          </Button>
        </search>
      ) : null}
      <Listed
        pages={useProviders()}
        label={m.tabs.providers}
        columns={columns}
        keyOf={({ id }) => id}
        onOpen={({ id }) => onOpen(id)}
        empty={
          <Empty title={m.noProviders}>
            <p>{m.noProvidersHelp}</p>
          </Empty>
        }
      />
      {open?.act === 'new' ? <NewProvider onClose={close} /> : null}
      {open?.act === 'test' ? <TestProvider of={open.provider} onClose={close} /> : null}
      {open?.act === 'status' ? <SwitchStatus of={open.provider} onClose={close} /> : null}
      {open?.act === 'remove' ? <Remove of={open.provider} onClose={close} /> : null}
    </>
  );
}

function SwitchStatus({ of: { id, name, status }, onClose }: { of: ProviderRecord; onClose: () => void }) {
  const change = useChange('messagingProviders.update');
  const is_active = status === 'active';
  const body = { status: is_active ? 'paused' : 'active' } as const;
  return (
    <Confirm
      title={is_active ? m.pauseTitle(name) : m.activateTitle(name)}
      verb={is_active ? m.pauseVerb : m.activateVerb}
      busy={change.isPending}
      error={change.error}
      onClose={onClose}
      onConfirm={() => change.mutate({ inputs: [id, body] }, { onSuccess: onClose })}
    >
      <p>{is_active ? m.pauseText : m.activateText}</p>
    </Confirm>
  );
}

function Remove({ of: { id, name }, onClose }: { of: ProviderRecord; onClose: () => void }) {
  const remove = useChange('messagingProviders.delete');
  return (
    <Confirm
      title={m.removeProviderTitle(name)}
      verb={m.removeProviderVerb}
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => remove.mutate({ inputs: [id] }, { onSuccess: onClose })}
    >
      <p>{m.removeProviderText}</p>
    </Confirm>
  );
}
