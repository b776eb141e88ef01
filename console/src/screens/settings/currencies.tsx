import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { useCatalogue } from '../../api/currencies.ts';
import { usePlace } from '../../api/place.tsx';
import { newActionKey, useChange } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { formatInt } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { wordIn } from '../../format/code-words.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Buttons } from '../../ui/form.tsx';
import { Grid, type Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Answered, Empty, Failed } from '../../ui/states.tsx';
import { useRates, type CurrencyRecord, type RateRecord } from './queries.ts';
import css from './settings.module.css';

const route = getRouteApi('/settings');
const m = t.settings;

interface Pair {
  base: string;
  quote: string;
}

/** The catalogue of currencies, and the rates of the one that the address names. */
export function Currencies() {
  const { currency } = route.useSearch();
  const navigate = useNavigate({ from: '/settings' });
  const { base_currency } = usePlace();
  const open = (code: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, currency: code }) });
  const columns: Column<CurrencyRecord>[] = [
    { key: 'code', title: m.code, width: '110px', cell: ({ code }) => <code>{code}</code> },
    { key: 'name', title: m.name, width: 'minmax(180px, 2fr)', cell: (row) => row.display_name },
    { key: 'kind', title: m.kind, width: '110px', cell: ({ kind }) => m.kinds[kind] },
    { key: 'scale', title: m.scale, width: '130px', align: 'right', cell: ({ scale }) => formatInt(scale) },
    {
      key: 'source',
      title: m.rateSource,
      width: '220px',
      cell: ({ rate_source, is_rate_stale }) => (
        <>
          {wordIn(t.names.rateSources, rate_source)}
          {is_rate_stale ? <Badge tone="warn">{m.isRateStale}</Badge> : null}
        </>
      ),
    },
    {
      key: 'state',
      title: m.state,
      width: '140px',
      cell: ({ is_base, is_active }) =>
        is_base ? (
          <Badge tone="accent">{m.isBase}</Badge>
        ) : (
          <Badge tone={is_active ? 'good' : 'neutral'}>{is_active ? m.active : m.inactive}</Badge>
        ),
    },
  ];
  return (
    <Answered asked={useCatalogue()} what={m.tabs.currencies}>
      {({ data }) => {
        const chosen = data.find(({ code }) => code === currency && code !== base_currency);
        if (chosen === undefined) {
          return (
            <>
              <p className={css['soft']}>{m.ratesHint(base_currency)}</p>
              <Grid
                label={m.tabs.currencies}
                rows={data}
                columns={columns}
                keyOf={({ code }) => code}
                onOpen={({ code }) => open(code)}
              />
            </>
          );
        }
        // Rates are kept in the direction in which providers publish them.
        const pair =
          chosen.kind === 'crypto'
            ? { base: chosen.code, quote: base_currency }
            : { base: base_currency, quote: chosen.code };
        return <Rates pair={pair} onBack={() => open(undefined)} />;
      }}
    </Answered>
  );
}

function Rates({ pair, onBack }: { pair: Pair; onBack: () => void }) {
  const [is_open, setOpen] = useState(false);
  const may_set = roleAllows(usePlace().role, 'admin');
  const columns: Column<RateRecord>[] = [
    { key: 'from', title: m.holdsFrom, width: '220px', cell: ({ ts }) => <Time at={ts} /> },
    {
      key: 'rate',
      title: m.rateOf(pair.base, pair.quote),
      width: 'minmax(240px, 2fr)',
      align: 'right',
      cell: ({ rate }) => <code>{rate}</code>,
    },
    {
      key: 'source',
      title: m.source,
      width: '150px',
      cell: ({ source }) => (
        <Badge tone={source === 'manual' ? 'warn' : 'neutral'}>{wordIn(t.names.rateSources, source)}</Badge>
      ),
    },
  ];
  return (
    <>
      <Buttons>
        <Button onClick={onBack}>{m.allCurrencies}</Button>
        {may_set ? (
          <Button kind="primary" onClick={() => setOpen(true)}>
            {m.setRate}
          </Button>
        ) : null}
      </Buttons>
      <h2>{m.ratesOf(pair.base, pair.quote)}</h2>
      <Listed
        pages={useRates(pair)}
        label={m.ratesOf(pair.base, pair.quote)}
        columns={columns}
        keyOf={({ ts }) => ts}
        empty={
          <Empty title={m.noRates}>
            <p>{m.noRatesHelp}</p>
          </Empty>
        }
      />
      {is_open ? <SetRate pair={pair} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function SetRate({ pair: { base, quote }, onClose }: { pair: Pair; onClose: () => void }) {
  const [rate, setRate] = useState('');
  const [key] = useState(newActionKey);
  const set = useChange('currencies.rates.create');
  // The second click of a double click comes before the button is disabled.
  const is_sent = useRef(false);
  const digits = rate.trim();
  const is_rate = /^\d{1,40}(\.\d{1,40})?$/.test(digits) && /[1-9]/.test(digits);
  const submit = () => {
    if (is_sent.current) return;
    is_sent.current = true;
    const body = { base, quote, rate: digits };
    set.mutate(
      { inputs: [body], idempotency_key: key },
      { onSuccess: onClose, onError: () => (is_sent.current = false) },
    );
  };
  return (
    <Dialog
      title={m.setRateTitle(base, quote)}
      onClose={onClose}
      mayClose={() => !set.isPending}
      actions={
        <>
          <Button onClick={onClose} disabled={set.isPending}>
            {t.confirm.cancel}
          </Button>
          <Button kind="danger" disabled={!is_rate || set.isPending} onClick={submit}>
            {is_rate ? m.setRateVerb(base, digits, quote) : m.setRate}
          </Button>
        </>
      }
    >
      <p>{m.setRateText}</p>
      <Field label={m.rateOf(base, quote)} hint={m.rateHint}>
        {(control) => (
          <input
            {...control}
            inputMode="decimal"
            autoComplete="off"
            maxLength={81}
            value={rate}
            onChange={({ target }) => setRate(target.value)}
          />
        )}
      </Field>
      {set.error === null ? null : <Failed error={set.error} />}
    </Dialog>
  );
}
