import { useState } from 'react';
import { parseExactly, writeExactly } from '../../api/json.ts';
import { usePlace } from '../../api/place.tsx';
import { newActionKey, useChange } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { Time } from '../../format/zone.tsx';
import { wordIn } from '../../format/code-words.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty, Failed } from '../../ui/states.tsx';
import { useDeadLetters, type DeadLetter } from './queries.ts';

const m = t.events;

const COLUMNS: readonly Column<DeadLetter>[] = [
  { key: 'at', title: m.at, width: '210px', cell: ({ at }) => <Time at={at} /> },
  {
    key: 'reason',
    title: m.deadLetter,
    width: '220px',
    cell: ({ reason }) => <Badge tone="bad">{wordIn(t.names.rejections, reason)}</Badge>,
  },
  { key: 'message', title: m.message, width: 'minmax(260px, 1fr)', cell: ({ message }) => message },
  { key: 'replay', title: m.replay, width: '140px', cell: ({ replay }) => m.replays[replay] },
];

/** Events that could not be applied, with the reason; an admin looks at one and replays it. */
export function Rejected() {
  const { role } = usePlace();
  const may = roleAllows(role, 'admin');
  const letters = useDeadLetters(may);
  const [shown, setShown] = useState<DeadLetter>();
  if (!may) return <Empty title={m.needsAdmin} />;
  return (
    <>
      <Listed
        pages={letters}
        label={m.tabs.rejected}
        columns={COLUMNS}
        keyOf={({ partition, offset }) => `${partition}/${offset}`}
        onOpen={setShown}
        empty={
          <Empty title={m.noDeadLetters}>
            <p>{m.noDeadLettersHelp}</p>
          </Empty>
        }
      />
      {shown === undefined ? null : <Letter letter={shown} onClose={() => setShown(undefined)} />}
    </>
  );
}

function Letter({ letter, onClose }: { letter: DeadLetter; onClose: () => void }) {
  const [key] = useState(newActionKey);
  const replay = useChange('deadLetters.replay');
  const { partition, offset, reason, message, value } = letter;
  const report = replay.data?.data;
  const send = () => replay.mutate({ inputs: [{ letters: [{ partition, offset }] }], idempotency_key: key });
  return (
    <Dialog
      title={m.replayTitle}
      as="drawer"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t.dialog.close}</Button>
          <Button kind="primary" onClick={send} disabled={replay.isPending || report !== undefined}>
            {m.replay}
          </Button>
        </>
      }
    >
      <p>
        <Badge tone="bad">{wordIn(t.names.rejections, reason)}</Badge> {message}
      </p>
      <pre tabIndex={0} aria-label={m.properties}>
        {readable(value)}
      </pre>
      <p>{m.rejectionHelp[reason]}</p>
      <p>{m.replayHelp}</p>
      <p role="status">{report === undefined ? '' : m.replayed(report.replayed)}</p>
      {replay.error === null ? null : <Failed error={replay.error} />}
    </Dialog>
  );
}

/** JSON is indented; anything else is shown as it came. */
function readable(value: string): string {
  try {
    return writeExactly(parseExactly(value), 2);
  } catch {
    return value;
  }
}
