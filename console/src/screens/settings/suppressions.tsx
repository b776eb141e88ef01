import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { oneOf, CHANNELS, type Channel } from '../../api/choices.ts';
import { usePlace } from '../../api/place.tsx';
import { useChange } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Field } from '../../ui/field.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { REASONS, useSuppressions, type SuppressionRecord } from './queries.ts';
import { Choose } from '../../ui/choose.tsx';

const route = getRouteApi('/settings');
const m = t.settings;

/** The addresses that get no messages; for editors. */
export function Suppressions() {
  const { channel, reason } = route.useSearch();
  const navigate = useNavigate({ from: '/settings' });
  const may_remove = roleAllows(usePlace().role, 'admin');
  const [open, setOpen] = useState<'new' | SuppressionRecord>();
  const of_channel = CHANNELS.find((one) => one === channel);
  const of_reason = REASONS.find((one) => one === reason);
  const filter = (name: 'channel' | 'reason', value: string) =>
    void navigate({ search: (before) => ({ ...before, [name]: value === '' ? undefined : value }) });
  const columns: Column<SuppressionRecord>[] = [
    {
      key: 'address',
      title: m.address,
      width: 'minmax(240px, 2fr)',
      cell: (row) => <bdi>{row.address}</bdi>,
    },
    { key: 'channel', title: m.channel, width: '100px', cell: (row) => t.names.channels[row.channel] },
    {
      key: 'reason',
      title: m.reason,
      width: '160px',
      cell: (row) => (
        <Badge tone={row.reason === 'complaint' ? 'bad' : 'neutral'}>{m.reasons[row.reason]}</Badge>
      ),
    },
    { key: 'since', title: m.since, width: '210px', cell: (row) => <Time at={row.created_at} ago /> },
    ...(may_remove
      ? [
          {
            key: 'remove',
            title: m.action,
            width: '110px' as const,
            cell: (row: SuppressionRecord) => (
              <Button kind="quiet" aria-label={m.takeBackOf(row.address)} onClick={() => setOpen(row)}>
                {m.takeBack}
              </Button>
            ),
          },
        ]
      : []),
  ];
  return (
    <>
      <search>
        <Choose
          label={m.channel}
          any={m.anyChannel}
          options={CHANNELS.map((value) => ({ value, label: t.names.channels[value] }))}
          value={of_channel ?? ''}
          onChange={(value) => filter('channel', value)}
        />
        <Choose
          label={m.reason}
          any={m.anyReason}
          options={REASONS.map((value) => ({ value, label: m.reasons[value] }))}
          value={of_reason ?? ''}
          onChange={(value) => filter('reason', value)}
        />
        <Button kind="primary" onClick={() => setOpen('new')}>
          {m.suppress}
        </Button>
      </search>
      <Listed
        pages={useSuppressions(of_channel, of_reason)}
        label={m.tabs.suppressions}
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          of_channel === undefined && of_reason === undefined ? (
            <Empty title={m.noSuppressions}>
              <p>{m.noSuppressionsHelp}</p>
            </Empty>
          ) : (
            <Empty title={m.noMatch} />
          )
        }
      />
      {open === 'new' ? <Suppress onClose={() => setOpen(undefined)} /> : null}
      {typeof open === 'object' ? <TakeBack of={open} onClose={() => setOpen(undefined)} /> : null}
    </>
  );
}

function Suppress({ onClose }: { onClose: () => void }) {
  const [channel, setChannel] = useState<Channel>('email');
  const [address, setAddress] = useState('');
  const suppress = useChange('suppressions.create');
  const body = { channel, address: address.trim() };
  return (
    <ActDialog
      title={m.suppress}
      verb={m.suppressVerb}
      busy={suppress.isPending}
      ready={body.address !== ''}
      error={suppress.error}
      onAct={() => suppress.mutate({ inputs: [body] }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>{m.suppressText}</p>
      <Choose
        label={m.channel}
        options={CHANNELS.map((value) => ({ value, label: t.names.channels[value] }))}
        value={channel}
        onChange={(value) => setChannel(oneOf(CHANNELS, value) ?? channel)}
      />
      <Field label={m.address} hint={m.addressHint}>
        {(control) => (
          <input
            {...control}
            maxLength={4_096}
            autoComplete="off"
            value={address}
            onChange={({ target }) => setAddress(target.value)}
          />
        )}
      </Field>
    </ActDialog>
  );
}

function TakeBack({ of, onClose }: { of: SuppressionRecord; onClose: () => void }) {
  const remove = useChange('suppressions.delete');
  return (
    <Confirm
      title={m.takeBackTitle(of.address.slice(0, 100))}
      verb={m.takeBackVerb}
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => remove.mutate({ inputs: [of.id] }, { onSuccess: onClose })}
    >
      <p>{m.takeBackText(m.reasons[of.reason])}</p>
    </Confirm>
  );
}
