import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Buttons } from '../../ui/form.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { NewAdapter } from './adapter-dialogs.tsx';
import { AdapterPage } from './adapter-page.tsx';
import { BUILT_IN, useAdapters, type Adapter } from './queries.ts';
import { SandboxBonuses } from './sandbox-bonuses.tsx';

const route = getRouteApi('/developers');
const m = t.developers.adapter;

/** The adapters to casino platforms, or the one that the address names; for admins. */
export function Adapters() {
  const { adapter } = route.useSearch();
  const navigate = useNavigate({ from: '/developers' });
  const open = (id: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, adapter: id }) });
  const onBack = () => open(undefined);
  if (adapter === undefined) return <List onOpen={open} />;
  if (adapter !== BUILT_IN) return <AdapterPage key={adapter} id={adapter} onBack={onBack} />;
  return (
    <>
      <Buttons>
        <Button onClick={onBack}>{m.all}</Button>
      </Buttons>
      <h2>{m.builtIn}</h2>
      <SandboxBonuses id={BUILT_IN} />
    </>
  );
}

function List({ onOpen }: { onOpen: (id: string) => void }) {
  const [is_open, setOpen] = useState(false);
  const columns: Column<Adapter>[] = [
    { key: 'slug', title: m.slug, width: 'minmax(180px, 1fr)', cell: ({ slug }) => <code>{slug}</code> },
    { key: 'kind', title: m.kind, width: '110px', cell: ({ kind }) => m.kindNames[kind] },
    {
      key: 'url',
      title: m.baseUrl,
      width: 'minmax(240px, 2fr)',
      cell: ({ base_url }) => (base_url === null ? '—' : <bdi>{base_url}</bdi>),
    },
    {
      key: 'active',
      title: t.developers.status,
      width: '130px',
      cell: ({ is_active }) => <ActiveBadge is_active={is_active} />,
    },
    { key: 'changed', title: m.changed, width: '210px', cell: (row) => <Time at={row.updated_at} ago /> },
  ];
  return (
    <>
      <search>
        <Button kind="primary" onClick={() => setOpen(true)}>
          {m.new}
        </Button>
        <Button onClick={() => onOpen(BUILT_IN)}>{m.builtIn}</Button>
      </search>
      <Listed
        pages={useAdapters()}
        label={t.developers.tabs.adapters}
        columns={columns}
        keyOf={({ id }) => id}
        onOpen={({ id }) => onOpen(id)}
        empty={
          <Empty title={m.none}>
            <p>{m.noneHelp}</p>
          </Empty>
        }
      />
      {is_open ? <NewAdapter onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function ActiveBadge({ is_active }: { is_active: boolean }) {
  return <Badge tone={is_active ? 'good' : 'neutral'}>{is_active ? m.active : m.inactive}</Badge>;
}
