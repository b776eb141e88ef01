import { useState } from 'react';
import { parseExactly, writeExactly } from '../../api/json.ts';
import { usePlace } from '../../api/place.tsx';
import { newActionKey, useChange } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { Time } from '../../format/zone.tsx';
import { formatInt } from '../../format/number.ts';
import { wordIn } from '../../format/code-words.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty, Failed } from '../../ui/states.tsx';
import { useDeadLetters, useRefusals, type DeadLetter, type RejectedEvent } from './queries.ts';

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

const REFUSALS: readonly Column<RejectedEvent>[] = [
  { key: 'at', title: m.lastAt, width: '210px', cell: ({ last_at }) => <Time at={last_at} /> },
  { key: 'count', title: m.count, width: '90px', align: 'right', cell: ({ count }) => formatInt(count) },
  {
    key: 'code',
    title: m.code,
    width: '220px',
    cell: ({ code }) => <Badge tone="bad">{wordIn(t.names.refusals, code)}</Badge>,
  },
  { key: 'event', title: m.name, width: 'minmax(140px, 1fr)', cell: ({ event }) => event ?? m.wholeRequest },
  { key: 'reason', title: m.message, width: 'minmax(260px, 2fr)', cell: (refusal) => refusal.reason },
  { key: 'key', title: m.apiKey, width: '180px', cell: ({ api_key }) => keyName(api_key) },
  {
    key: 'client',
    title: m.client,
    width: '140px',
    cell: ({ client }) => wordIn(t.developers.clients, client),
  },
];

/** What intake refused, and events that could not be applied later, with the reasons. */
export function Rejected() {
  return (
    <>
      <h2>{m.refused}</h2>
      <Refused />
      <h2>{m.notApplied}</h2>
      <NotApplied />
    </>
  );
}

/** Events and requests that were answered with an error, or are rejected rows of their batch: nothing of them is stored. */
function Refused() {
  const refusals = useRefusals();
  const [shown, setShown] = useState<RejectedEvent>();
  return (
    <>
      <Listed
        pages={refusals}
        label={m.refused}
        columns={REFUSALS}
        keyOf={({ id }) => id}
        onOpen={setShown}
        empty={
          <Empty title={m.noRefusals}>
            <p>{m.noRefusalsHelp}</p>
          </Empty>
        }
      />
      {shown === undefined ? null : <Refusal refusal={shown} onClose={() => setShown(undefined)} />}
    </>
  );
}

function Refusal({ refusal, onClose }: { refusal: RejectedEvent; onClose: () => void }) {
  const { code, reason, event, index, shape, api_key, client, count, first_at, last_at } = refusal;
  return (
    <Dialog
      title={m.refusedTitle}
      as="drawer"
      onClose={onClose}
      actions={<Button onClick={onClose}>{t.dialog.close}</Button>}
    >
      <p>
        <Badge tone="bad">{wordIn(t.names.refusals, code)}</Badge> {reason}
      </p>
      <Facts
        label={m.refusedTitle}
        facts={[
          [m.code, <code key="code">{code}</code>],
          [m.name, event ?? m.wholeRequest],
          [m.count, formatInt(count)],
          [m.firstAt, <Time key="first" at={first_at} />],
          [m.lastAt, <Time key="last" at={last_at} />],
          [m.index, index === null ? m.noIndex : formatInt(index)],
          [m.apiKey, keyName(api_key)],
          [m.client, wordIn(t.developers.clients, client)],
        ]}
      />
      {shape === null ? null : (
        <pre tabIndex={0} aria-label={m.shape}>
          {readable(shape)}
        </pre>
      )}
      <p>{m.refusedHelp}</p>
    </Dialog>
  );
}

function keyName(api_key: RejectedEvent['api_key']): string {
  return api_key === null ? m.anyKey : (api_key.name ?? api_key.prefix ?? api_key.id);
}

/** Events that could not be applied, with the reason; an admin looks at one and replays it. */
function NotApplied() {
  const { role } = usePlace();
  const may = roleAllows(role, 'admin');
  const letters = useDeadLetters(may);
  const [shown, setShown] = useState<DeadLetter>();
  if (!may) return <Empty title={m.needsAdmin} />;
  return (
    <>
      <Listed
        pages={letters}
        label={m.notApplied}
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
