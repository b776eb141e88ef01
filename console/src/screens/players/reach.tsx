import { wordsOf } from '../../format/code-words.ts';
import { formatInt } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Answered } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { useReachability } from './queries.ts';

const m = t.players;

/** Which channels reach the player now, by the rules of the gate that decides each send. */
export function Reach({ id }: { id: string }) {
  const shown = (cap: { used: number; limit: number | null }) =>
    `${formatInt(cap.used)} / ${cap.limit === null ? '∞' : formatInt(cap.limit)}`;
  return (
    <Answered asked={useReachability(id)} what={m.tabs.reach}>
      {({ data }) => (
        <Table
          label={m.tabs.reach}
          head={[m.channel, m.tabs.reach, m.why, m.caps, m.quietUntil]}
          rows={data.map(({ channel, verdict, codes, caps, quiet_until }) => ({
            key: channel,
            cells: [
              t.names.channels[channel],
              verdict === 'reachable' ? (
                <Badge tone="good">{m.reachable}</Badge>
              ) : (
                <Badge tone="bad">{m.notReachable}</Badge>
              ),
              codes.map((code) => wordsOf(code)).join(', ') || '—',
              `${shown(caps.day)} · ${shown(caps.week)}`,
              <Time key="quiet" at={quiet_until} />,
            ],
          }))}
        />
      )}
    </Answered>
  );
}
