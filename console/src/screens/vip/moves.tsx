import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { fromLocalField } from '../../format/time.ts';
import { Time, useZone } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Field } from '../../ui/field.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { PlayerName } from '../../ui/player-name.tsx';
import { useMoves, useTiers, type Moved } from './queries.ts';

const route = getRouteApi('/vip');
const m = t.vip.moves;

/** The day after. */
function dayAfter(day: string): string {
  const at = new Date(`${day}T00:00:00Z`);
  at.setUTCDate(at.getUTCDate() + 1);
  return at.toISOString().slice(0, 10);
}

/** Whether it is a day. While a year is typed, its first digits are one of long ago: 0002 is not meant. */
const isDay = (text: string | undefined): text is string =>
  text !== undefined && /^[1-9]\d{3}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

/** Who moved between tiers, the newest first, within days of the chosen zone. */
export function Moves() {
  const { from, to } = route.useSearch();
  const navigate = useNavigate({ from: '/vip' });
  const { name: zone } = useZone();
  const tiers = useTiers().rows ?? [];
  const nameOf = (code: string | null) =>
    code === null ? m.noTier : (tiers.find((tier) => tier.code === code)?.name ?? code);
  const rankOf = (code: string | null) => tiers.find((tier) => tier.code === code)?.rank ?? -1;
  const columns: Column<Moved>[] = [
    { key: 'at', title: m.at, width: '210px', cell: ({ occurred_at }) => <Time at={occurred_at} /> },
    {
      key: 'player',
      title: m.player,
      width: 'minmax(140px, 1fr)',
      cell: ({ player_external_id, player_id }) => (
        <PlayerName id={player_id} external_id={player_external_id} />
      ),
    },
    {
      key: 'direction',
      title: m.change,
      width: '90px',
      cell: ({ from_code, to_code }) =>
        rankOf(to_code) > rankOf(from_code) ? (
          <Badge tone="good">{m.up}</Badge>
        ) : (
          <Badge tone="warn">{m.down}</Badge>
        ),
    },
    {
      key: 'tiers',
      title: t.vip.title,
      width: 'minmax(160px, 1fr)',
      cell: ({ from_code, to_code }) => <bdi>{m.between(nameOf(from_code), nameOf(to_code))}</bdi>,
    },
    { key: 'by', title: m.why, width: '110px', cell: ({ trigger }) => m.triggers[trigger] ?? trigger },
    {
      key: 'context',
      title: m.details,
      width: 'minmax(200px, 2fr)',
      cell: ({ context }) => <bdi>{whyOf(context)}</bdi>,
    },
  ];
  const change = (days: { from?: string | undefined } | { to?: string | undefined }) =>
    void navigate({ search: (before) => ({ ...before, ...days }), replace: true });
  const bound = (text: string | undefined) =>
    isDay(text) ? fromLocalField(`${text}T00:00`, zone) : undefined;
  return (
    <>
      <search>
        <Day label={m.from} hint={m.zone(zone)} value={from} onChange={(day) => change({ from: day })} />
        <Day label={m.to} value={to} onChange={(day) => change({ to: day })} />
      </search>
      <Listed
        pages={useMoves(bound(from), bound(isDay(to) ? dayAfter(to) : undefined))}
        label={m.loading}
        columns={columns}
        keyOf={({ player_id, occurred_at, from_code, to_code }) =>
          `${player_id} ${occurred_at} ${from_code} ${to_code}`
        }
        onOpen={({ player_id }) =>
          void navigate({ to: '/players/$id', params: { id: player_id }, search: { tab: 'tier' } })
        }
        empty={
          <Empty title={m.none}>
            <p>{m.noneHelp}</p>
          </Empty>
        }
      />
    </>
  );
}

interface DayProps {
  label: string;
  hint?: string;
  value: string | undefined;
  /** Called with days only; undefined: none. */
  onChange: (day: string | undefined) => void;
}

/** A field for a day, which keeps what is typed until it is one. */
function Day({ label, hint, value, onChange }: DayProps) {
  const day = isDay(value) ? value : '';
  const [typed, setTyped] = useState(day);
  const [shown, setShown] = useState(day);
  // The address has changed: by this field, or by the history.
  if (shown !== day) {
    setShown(day);
    setTyped(day);
  }
  const change = (text: string) => {
    setTyped(text);
    if (text === '' || isDay(text)) onChange(text === '' ? undefined : text);
  };
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <input {...control} type="date" value={typed} onChange={({ target }) => change(target.value)} />
      )}
    </Field>
  );
}

/** Why a tier changed, as far as the history says. */
function whyOf({ actor, reason, inactive_days, met, cause, pending_approval }: Moved['context']): string {
  if (typeof reason === 'string') return m.by(String(actor), reason);
  if (typeof inactive_days === 'number') return m.inactive(inactive_days);
  if (typeof cause === 'string') return m.causes[cause] ?? cause;
  if (met !== undefined) return m.met;
  return typeof pending_approval === 'string' ? m.waits(pending_approval) : '—';
}
