import { useMoney } from '../../api/currencies.ts';
import { formatPercent } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Facts } from '../../ui/facts.tsx';
import css from './bonuses.module.css';
import type { Grant } from './queries.ts';

const m = t.bonuses.grant;
/** Shares are taken of so many parts, exactly, before they become a number. */
const PARTS = 10_000n;

/** How much of the wagering is done, from 0 to 1; only all of it is 1. */
export function shareOf(grant: Pick<Grant, 'wagering_required' | 'wagering_progress'>): number {
  const { wagering_required: required, wagering_progress: done } = grant;
  if (required === 0n || done >= required) return 1;
  return Number((done * PARTS) / required) / Number(PARTS);
}

/** What is wagered of what has to be: as a bar, and in numbers. */
export function Wagering({ grant }: { grant: Grant }) {
  const money = useMoney();
  const of = (amount: Grant['bonus_amount']) => money.of(amount, grant.currency);
  const { wagering_required: required, wagering_progress: done } = grant;
  const share = shareOf(grant);
  return (
    <section className={css['section']} aria-label={m.wagering}>
      <h2>{m.wagering}</h2>
      {required === 0n ? (
        <p>{m.nothingToWager}</p>
      ) : (
        <>
          <progress className={css['bar']} max={1} value={share} aria-label={m.share(formatPercent(share))} />
          <p>
            {m.progress(of(done), of(required))} ({formatPercent(share)})
          </p>
        </>
      )}
      <Facts
        label={m.wagering}
        facts={[
          [m.left, of(done >= required ? 0n : required - done)],
          [m.progressFrom, m.counted[grant.progress_source] ?? grant.progress_source],
          [
            t.bonuses.template.fields['wagering_requirement_multiplier'] ?? '',
            m.times(grant.wagering_multiplier, grant.wagering_basis),
          ],
          [m.maxBet, grant.max_bet === null ? t.bonuses.noLimit : of(grant.max_bet)],
          [m.breaches, grant.max_bet_breaches],
          [m.expires, <Time key="expires" at={grant.expires_at} />],
        ]}
      />
    </section>
  );
}
