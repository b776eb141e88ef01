import { useMoney } from '../../api/currencies.ts';
import { formatValue } from '../../format/value.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Table } from '../../ui/table.tsx';
import css from './bonuses.module.css';
import type { Grant, GrantEvent } from './queries.ts';
import { GrantStatus } from './status.tsx';

const m = t.bonuses.grant;

/** The states that a grant was in, one below the other: since when, by what, and why. */
export function StatePath({ grant }: { grant: Grant & { history: GrantEvent[] } }) {
  const money = useMoney();
  const steps = grant.history.filter(({ from_status, to_status }) => from_status !== to_status);
  return (
    <section className={css['section']} aria-label={m.path}>
      <h2>{m.path}</h2>
      <ol className={css['path']}>
        {steps.map(({ seq, event, source, to_status, occurred_at, data }, i) => {
          // Why it has ended is shown apart from what the platform said.
          const is_last = i === steps.length - 1 && to_status === grant.status;
          const reason = reasonOf(data) ?? (is_last ? (grant.status_reason ?? undefined) : undefined);
          return (
            <li key={seq}>
              <span className={css['step']}>
                <GrantStatus status={to_status} /> <Time at={occurred_at} />
              </span>
              <span>
                {m.events[event] ?? event} <span className={css['soft']}>{m.sources[source] ?? source}</span>
              </span>
              {reason === undefined ? null : <bdi>{m.because(reason)}</bdi>}
              {Object.entries(m.said).map(([field, name]) => {
                const amount = amountOf(data[field]);
                return amount === undefined ? null : (
                  <span key={field}>{`${name}: ${money.of(amount, grant.currency)}`}</span>
                );
              })}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

/** Why an event happened, as far as it says: its reason, or the code and message of an error. */
function reasonOf(data: GrantEvent['data']): string | undefined {
  const said = ['reason', 'code', 'message'].flatMap((name) => {
    const value = data[name];
    return typeof value === 'string' && value !== '' ? [value] : [];
  });
  return said.length === 0 ? undefined : said.join(', ').slice(0, 300);
}

function amountOf(value: unknown): bigint | undefined {
  return (typeof value === 'number' || typeof value === 'string' || typeof value === 'bigint') &&
    /^\d+$/.test(String(value))
    ? BigInt(value)
    : undefined;
}

/** All events of a grant, the newest first, with what they said. */
export function Happened({ history }: { history: readonly GrantEvent[] }) {
  return (
    <details>
      <summary>{m.happened}</summary>
      <Table
        label={m.happened}
        head={[m.at, m.event, m.source, t.bonuses.status, m.data]}
        rows={history.toReversed().map(({ seq, event, source, to_status, occurred_at, data }) => ({
          key: String(seq),
          cells: [
            <Time key="at" at={occurred_at} />,
            m.events[event] ?? event,
            m.sources[source] ?? source,
            m.statuses[to_status] ?? to_status,
            <code key="data">{formatValue(data)}</code>,
          ],
        }))}
      />
    </details>
  );
}
