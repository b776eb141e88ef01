import { useMoney } from '../../api/currencies.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { useLedger, type LedgerRow } from './queries.ts';

const m = t.players;

/** The player's ledger: each amount as it came, and what it is in the base currency by which rate. */
export function Money({ id }: { id: string }) {
  const money = useMoney();
  const columns: Column<LedgerRow>[] = [
    { key: 'at', title: t.events.at, width: '210px', cell: ({ at }) => <Time at={at} /> },
    { key: 'event', title: t.events.name, width: '180px', cell: ({ event }) => event },
    {
      key: 'amount',
      title: t.events.amount,
      width: '150px',
      align: 'right',
      cell: ({ amount, payout, currency }) => {
        const shown = amount ?? payout;
        return shown === null || currency === null ? '—' : money.of(shown, currency);
      },
    },
    {
      key: 'base',
      title: m.baseAmount,
      width: '150px',
      align: 'right',
      cell: ({ base_amount }) => (base_amount === null ? m.noRateYet : money.base(base_amount)),
    },
    { key: 'rate', title: m.rate, width: '120px', align: 'right', cell: ({ rate }) => rate ?? '—' },
    { key: 'rate at', title: t.overview.range, width: '210px', cell: ({ rate_ts }) => <Time at={rate_ts} /> },
    {
      key: 'reference',
      title: m.reference,
      width: 'minmax(180px, 1fr)',
      cell: (row) => <code>{row.reference}</code>,
    },
  ];
  return (
    <Listed
      pages={useLedger(id)}
      label={m.tabs.money}
      columns={columns}
      keyOf={({ ingestion_id, event_index }) => `${ingestion_id}/${event_index}`}
      empty={<Empty title={m.nothingHere} />}
    />
  );
}
