import { useState } from 'react';
import { newActionKey, useChange } from '../../api/queries.ts';
import { fromLocalField, toLocalField } from '../../format/time.ts';
import { useZone } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { PlayerChoice } from '../../ui/player-choice.tsx';

const m = t.compliance.officer;
const SHORTEST_REASON = 3;
const DAY_MS = 86_400_000;

function Reason({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  return (
    <Field label={m.reason} hint={m.reasonHint}>
      {(control) => (
        <textarea
          {...control}
          rows={3}
          maxLength={500}
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}

/** Excludes a player, or begins a break, for somebody who asked by letter or telephone. */
export function Exclude({
  player: given,
  onClose,
  onDone,
}: {
  player?: string;
  onClose: () => void;
  onDone: (player_id: string) => void;
}) {
  const { name: zone } = useZone();
  const [key] = useState(newActionKey);
  const [player, setPlayer] = useState(given);
  const [kind, setKind] = useState<'self_exclusion' | 'cooldown'>('self_exclusion');
  const [until, setUntil] = useState(() => toLocalField(new Date(Date.now() + DAY_MS).toISOString(), zone));
  const [reason, setReason] = useState('');
  const exclude = useChange('compliance.exclusions.create');
  const end = fromLocalField(until, zone);
  const ready =
    player !== undefined &&
    reason.trim().length >= SHORTEST_REASON &&
    (kind === 'self_exclusion' || end !== undefined);
  const send = () => {
    if (player === undefined) return;
    const shared = { player_id: player, reason: reason.trim() };
    const body = kind === 'self_exclusion' ? { ...shared, kind } : { ...shared, kind, until: end ?? '' };
    exclude.mutate({ inputs: [body], idempotency_key: key }, { onSuccess: () => onDone(player) });
  };
  return (
    <ActDialog
      title={m.exclude}
      verb={m.excludeVerb}
      busy={exclude.isPending}
      ready={ready}
      error={exclude.error}
      onAct={send}
      onClose={onClose}
    >
      <Form disabled={exclude.isPending}>
        {given === undefined ? (
          <PlayerChoice label={t.compliance.player} value={player} onChoose={setPlayer} />
        ) : null}
        <Field label={t.compliance.kind} hint={m.kindHints[kind]}>
          {(control) => (
            <select
              {...control}
              value={kind}
              onChange={({ target }) => setKind(target.value === 'cooldown' ? 'cooldown' : 'self_exclusion')}
            >
              <option value="self_exclusion">{t.compliance.kinds.self_exclusion}</option>
              <option value="cooldown">{t.compliance.kinds.cooldown}</option>
            </select>
          )}
        </Field>
        {kind === 'cooldown' ? (
          <Field label={m.until(zone)}>
            {(control) => (
              <input
                {...control}
                type="datetime-local"
                value={until}
                onChange={({ target }) => setUntil(target.value)}
              />
            )}
          </Field>
        ) : null}
        <Reason value={reason} onChange={setReason} />
      </Form>
    </ActDialog>
  );
}

/** Ends the self-exclusion of a player. */
export function Lift({ player, name, onClose }: { player: string; name: string; onClose: () => void }) {
  const [key] = useState(newActionKey);
  const [reason, setReason] = useState('');
  const lift = useChange('compliance.exclusions.lift');
  return (
    <ActDialog
      title={m.liftTitle(name.slice(0, 100))}
      verb={m.liftVerb}
      kind="danger"
      busy={lift.isPending}
      ready={reason.trim().length >= SHORTEST_REASON}
      error={lift.error}
      onAct={() =>
        lift.mutate(
          { inputs: [player, { reason: reason.trim() }], idempotency_key: key },
          { onSuccess: onClose },
        )
      }
      onClose={onClose}
    >
      <p>{m.liftText}</p>
      <Reason value={reason} onChange={setReason} />
    </ActDialog>
  );
}
