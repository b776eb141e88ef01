import { Link } from '@tanstack/react-router';
import { useMoney, type MoneyFormat } from '../../api/currencies.ts';
import { formatValue } from '../../format/value.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Empty, Failed, Loading, Stale } from '../../ui/states.tsx';
import { useMembers, useTiers, type Tier } from './queries.ts';
import css from './vip.module.css';

const m = t.vip;
const EXAMPLE = `curl -X POST "$BASE/v1/vip-tiers" -H "Authorization: Bearer $SESSION" -H 'Content-Type: application/json' \\
  -d '{"code":"gold","name":"Gold","rank":3,"requirements":{"lifetime_wagered_subunit":1000000}}'`;

/** The tiers as a ladder: the highest rank on top. */
export function Ladder() {
  const { rows, error, dataUpdatedAt, refetch } = useTiers();
  const money = useMoney();
  const retry = () => void refetch();
  if (rows === undefined)
    return error === null ? <Loading what={m.loading} /> : <Failed error={error} retry={retry} />;
  if (rows.length === 0)
    return (
      <Empty title={m.none} call={EXAMPLE}>
        <p>{m.noneHelp}</p>
      </Empty>
    );
  return (
    <>
      {error === null ? null : <Stale since_ms={dataUpdatedAt} error={error} retry={retry} />}
      <ol className={css['ladder']} aria-label={m.ladder}>
        {rows.toReversed().map((tier) => (
          <li key={tier.id}>
            <Rung tier={tier} money={money} />
          </li>
        ))}
      </ol>
    </>
  );
}

function Rung({ tier, money }: { tier: Tier; money: MoneyFormat }) {
  return (
    <article className={css['rung']} aria-label={tier.name}>
      <h2>
        <Swatch tier={tier} />{' '}
        <Link to="/vip/$id" params={{ id: tier.id }}>
          <bdi>{tier.name}</bdi>
        </Link>
      </h2>
      <p className={css['soft']}>
        {m.rank(tier.rank)} <code>{tier.code}</code>{' '}
        {tier.is_active ? null : <Badge tone="warn">{m.inactive}</Badge>} <Members code={tier.code} />
      </p>
      <Facts
        label={tier.name}
        facts={[
          [m.needs, needsOf(tier, money)],
          [m.falls, fallOf(tier)],
          [m.perks, perksOf(tier)],
        ]}
      />
    </article>
  );
}

/** The colour and the sign of a tier; neither tells anything that its name does not. */
export function Swatch({ tier: { color, glyph } }: { tier: Pick<Tier, 'color' | 'glyph'> }) {
  return (
    <span aria-hidden="true" className={css['swatch']}>
      {color === null ? null : <span style={{ background: color }} />}
      {glyph}
    </span>
  );
}

function Members({ code }: { code: string }) {
  const { data, error } = useMembers(code);
  if (data !== undefined) return <span title={m.membersHint}>{m.members(data.data.estimated_size)}</span>;
  return <span>{error === null ? m.counting : m.notCounted}</span>;
}

/** What a player needs for the tier, in words. */
export function needsOf({ requirements }: Tier, money: MoneyFormat): string {
  const { lifetime_deposit_subunit, lifetime_wagered_subunit, min_days_active } = requirements;
  const parts = [
    ...(lifetime_deposit_subunit === 0n ? [] : [m.deposited(money.base(lifetime_deposit_subunit))]),
    ...(lifetime_wagered_subunit === 0n ? [] : [m.wagered(money.base(lifetime_wagered_subunit))]),
    ...(min_days_active === 0 ? [] : [m.days(min_days_active)]),
  ];
  return parts.length === 0 ? m.needsNothing : parts.join(m.and);
}

function fallOf({ demotion }: Tier): string {
  const days = demotion?.inactivity_days ?? null;
  return days === null ? m.fallsNever : m.fallsAfter(days + (demotion?.grace_days ?? 0));
}

function perksOf({ perks }: Tier): string {
  const names = Object.entries(perks).map(
    ([name, value]) => `${m.fields[`perks.${name}`] ?? name}: ${formatValue(value)}`,
  );
  return names.length === 0 ? m.noPerks : names.join(', ').slice(0, 400);
}
