import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { formatInt, formatPercent, formatPoints } from '../../format/number.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Buttons } from '../../ui/form.tsx';
import { Answered } from '../../ui/states.tsx';
import css from './campaigns.module.css';
import { Codes } from './codes.tsx';
import { useAudience, type Audience, type CampaignRecord } from './queries.ts';

const m = t.campaigns.audience;

/** Whom the campaign reaches now by the gate's own count, and why it does not reach the others. */
export function AudienceCounts({ campaign }: { campaign: CampaignRecord }) {
  const client = useQueryClient();
  const [wants_all, setWantsAll] = useState(false);
  const asked = useAudience(campaign, wants_all);
  const stop = () => {
    // The request ends with it, and with the request the count.
    void client.cancelQueries({ predicate: ({ queryKey }) => queryKey[1] === 'audience' });
    setWantsAll(false);
  };
  return (
    <section className={css['section']} aria-label={m.title}>
      <h2>{m.title}</h2>
      <Answered asked={asked} what={m.title}>
        {({ data }) =>
          campaign.type === 'triggered' ? (
            <p>{m.triggered}</p>
          ) : (
            <>
              <Counted audience={data} />
              <Buttons>
                {asked.isFetching ? <span role="status">{m.counting}</span> : null}
                {asked.isFetching && wants_all ? <Button onClick={stop}>{m.stop}</Button> : null}
                {data.exact || asked.isFetching ? null : (
                  <Button onClick={() => setWantsAll(true)}>{m.ask}</Button>
                )}
              </Buttons>
            </>
          )
        }
      </Answered>
    </section>
  );
}

/** What the holdout of the campaign can show, before it is sent. */
function visibleText({
  held_out,
  base_rate,
  smallest_effect,
  power,
}: NonNullable<Audience['effect']>): string {
  const players = formatInt(held_out);
  if (smallest_effect === null) return m.effectUnknown(players);
  const chance = power === null ? '—' : formatPercent(power);
  return m.effect(players, formatPercent(base_rate), formatPoints(smallest_effect), chance);
}

function Counted({
  audience: { members, sendable, by_code, exact, counted, effect, send_time },
}: {
  audience: Audience;
}) {
  const skipped = members - sendable;
  return (
    <>
      <Facts
        label={m.title}
        large
        facts={[
          [m.members, formatInt(members)],
          [m.sendable, formatInt(sendable)],
          [m.skipped, formatInt(skipped)],
        ]}
      />
      <p className={css['soft']}>{exact ? m.exact : m.estimated(counted)}</p>
      {send_time === null ? null : (
        <p>{m.sendTime(formatInt(send_time.own_hour), formatInt(send_time.plain))}</p>
      )}
      {effect === null ? null : <p>{visibleText(effect)}</p>}
      {sendable === 0 ? (
        <p>
          <Badge tone="warn">{m.nobody}</Badge>
        </p>
      ) : null}
      {skipped > 0 ? (
        <Codes label={m.skipped} by_code={by_code} />
      ) : sendable > 0 ? (
        <p>{m.everybody}</p>
      ) : null}
    </>
  );
}
