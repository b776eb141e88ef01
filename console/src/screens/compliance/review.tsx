import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useMayEdit, usePlace } from '../../api/place.tsx';
import { newActionKey, useChange } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty, Failed } from '../../ui/states.tsx';
import { PlayerName } from '../../ui/player-name.tsx';
import css from './compliance.module.css';
import { ApproveKyc, RefuseKyc } from './kyc.tsx';
import { useConflicts, useKycQueue, type Conflict, type KycWaiting } from './queries.ts';

const m = t.compliance;
const WHEN = '210px';
/** The events of responsible gambling that set, reach or exceed something. */
const LIMIT_EVENTS = [
  'deposit_limit_set',
  'deposit_limit_reached',
  'loss_limit_set',
  'loss_limit_reached',
  'session_limit_warning',
  'session_limit_exceeded',
  'reality_check',
] as const;

const KYC_COLUMNS: readonly Column<KycWaiting>[] = [
  {
    key: 'player',
    title: m.player,
    width: 'minmax(200px, 1fr)',
    cell: ({ external_id, player_id }) => <PlayerName id={player_id} external_id={external_id} />,
  },
  { key: 'level', title: m.kyc.level, width: '90px', align: 'right', cell: ({ kyc_level }) => kyc_level },
  {
    key: 'wanted',
    title: m.kyc.wanted,
    width: '90px',
    align: 'right',
    cell: ({ requested_level }) => requested_level ?? '—',
  },
  { key: 'since', title: m.kyc.since, width: WHEN, cell: ({ since }) => <Time at={since} /> },
];

/** Verifications that wait, for editors with their decision, and where the events about limits are. */
export function KycAndLimits() {
  const navigate = useNavigate({ from: '/compliance' });
  const may_edit = useMayEdit();
  const [chosen, setChosen] = useState<{ waiting: KycWaiting; approves: boolean }>();
  const decide: Column<KycWaiting> = {
    key: 'decide',
    title: m.kyc.decide,
    width: '190px',
    cell: (waiting) => (
      <>
        <Button kind="quiet" onClick={() => setChosen({ waiting, approves: true })}>
          {m.kyc.approve}
        </Button>
        <Button kind="quiet" onClick={() => setChosen({ waiting, approves: false })}>
          {m.kyc.refuse}
        </Button>
      </>
    ),
  };
  const Decision = chosen?.approves === true ? ApproveKyc : RefuseKyc;
  return (
    <>
      <h2>{m.kyc.waiting}</h2>
      <Listed
        pages={useKycQueue()}
        label={m.kyc.waiting}
        columns={may_edit ? [...KYC_COLUMNS, decide] : KYC_COLUMNS}
        keyOf={({ player_id }) => player_id}
        onOpen={({ player_id }) => void navigate({ to: '/players/$id', params: { id: player_id } })}
        empty={
          <Empty title={m.kyc.none}>
            <p>{m.kyc.noneHelp}</p>
          </Empty>
        }
      />
      {chosen === undefined ? null : (
        <Decision
          waiting={chosen.waiting}
          name={(chosen.waiting.external_id ?? chosen.waiting.player_id).slice(0, 100)}
          onClose={() => setChosen(undefined)}
        />
      )}
      <h2>{m.kyc.limits}</h2>
      <p>{m.kyc.limitsHelp}</p>
      <ul className={css['links']}>
        {LIMIT_EVENTS.map((event) => (
          <li key={event}>
            <Link to="/events" search={(before) => ({ ...before, tab: 'search', event })}>
              {event}
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Players whose ids name two people, and who may decide ends the review. */
export function Conflicts() {
  const { role } = usePlace();
  const navigate = useNavigate({ from: '/compliance' });
  const [chosen, setChosen] = useState<Conflict>();
  const columns: Column<Conflict>[] = [
    {
      key: 'player',
      title: m.player,
      width: 'minmax(200px, 1fr)',
      cell: ({ external_id, player_id }) => <PlayerName id={player_id} external_id={external_id} />,
    },
    {
      key: 'devices',
      title: m.conflicts.devices,
      width: 'minmax(160px, 1fr)',
      cell: ({ anonymous_ids }) => anonymous_ids.slice(0, 3).join(', ') || '—',
    },
    { key: 'created', title: m.conflicts.created, width: WHEN, cell: (row) => <Time at={row.created_at} /> },
    {
      key: 'resolve',
      title: '',
      width: '130px',
      cell: (row) =>
        roleAllows(role, 'compliance') ? (
          <Button kind="quiet" onClick={() => setChosen(row)}>
            {m.conflicts.resolve}
          </Button>
        ) : null,
    },
  ];
  return (
    <>
      <Listed
        pages={useConflicts()}
        label={m.tabs.conflicts}
        columns={roleAllows(role, 'compliance') ? columns : columns.slice(0, -1)}
        keyOf={({ player_id }) => player_id}
        onOpen={({ player_id }) => void navigate({ to: '/players/$id', params: { id: player_id } })}
        empty={
          <Empty title={m.conflicts.none}>
            <p>{m.conflicts.noneHelp}</p>
          </Empty>
        }
      />
      {chosen === undefined ? null : <Resolve conflict={chosen} onClose={() => setChosen(undefined)} />}
    </>
  );
}

const SHORTEST_NOTE = 3;

function Resolve({ conflict, onClose }: { conflict: Conflict; onClose: () => void }) {
  const [key] = useState(newActionKey);
  const [note, setNote] = useState('');
  const resolve = useChange('compliance.conflicts.resolve');
  const { player_id, external_id } = conflict;
  const send = () =>
    resolve.mutate(
      { inputs: [player_id, { note: note.trim() }], idempotency_key: key },
      { onSuccess: onClose },
    );
  return (
    <Dialog
      title={m.conflicts.title(external_id ?? player_id)}
      onClose={onClose}
      mayClose={() => !resolve.isPending}
      actions={
        <>
          <Button onClick={onClose} disabled={resolve.isPending}>
            {t.confirm.cancel}
          </Button>
          <Button
            kind="primary"
            onClick={send}
            disabled={resolve.isPending || note.trim().length < SHORTEST_NOTE}
          >
            {m.conflicts.verb}
          </Button>
        </>
      }
    >
      <p>{m.conflicts.help}</p>
      <Field label={m.conflicts.note}>
        {(control) => (
          <textarea
            {...control}
            rows={3}
            maxLength={2_000}
            value={note}
            onChange={({ target }) => setNote(target.value)}
          />
        )}
      </Field>
      {resolve.error === null ? null : <Failed error={resolve.error} />}
    </Dialog>
  );
}
