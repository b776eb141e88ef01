import { ApiError } from '@player-engagement/client/admin';
import { useState } from 'react';
import { useDraft } from '../../api/draft.ts';
import { usePlace } from '../../api/place.tsx';
import { useChange } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { maskText } from '../../../../src/players/masking.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Conflict, isConflict } from '../../ui/conflict.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Failed } from '../../ui/states.tsx';
import type { PlayerRecord } from './queries.ts';

const m = t.players;

/** What PATCH may set. Somebody in conflict or deleted comes from there by other ways, or not at all. */
const SETTABLE = ['active', 'self_excluded', 'banned'] as const;
const CONTACTS = ['email', 'phone', 'telegram_id'] as const;
type Contact = (typeof CONTACTS)[number];

/** The form. It has only a new contact, empty while the contact stays. A saved contact is never in it, masked or not. */
type Draft = Record<'timezone' | 'status' | Contact, string> & Record<`no_${Contact}`, boolean>;

const UNTOUCHED = {
  email: '',
  phone: '',
  telegram_id: '',
  no_email: false,
  no_phone: false,
  no_telegram_id: false,
};

/** Changes a player's contacts, time zone and status, over the version that the first change was typed over. */
export function EditPlayer({
  player,
  etag,
  onClose,
}: {
  player: PlayerRecord;
  etag: string | undefined;
  onClose: () => void;
}) {
  const save = useChange('players.update');
  // The page asks for the player anew all the time; the name of the dialog and what it says is removed stay.
  const [name] = useState(player.external_id ?? player.id);
  const typed = useDraft<Draft>(
    { ...UNTOUCHED, timezone: player.timezone ?? '', status: player.status },
    etag,
  );
  const { draft } = typed;
  const changes = patchOf(typed.changes, draft);
  const masked = CONTACTS.filter((field) => isMask(draft[field]));
  const lifts = player.status === 'self_excluded' && changes['status'] === 'active';
  const is_kept = player.status === 'self_excluded' && !roleAllows(usePlace().role, 'compliance');
  const settable = SETTABLE.filter((status) => status !== 'active' || !is_kept);
  const unchanged_hint = is_kept ? m.edit.needsOfficer : undefined;
  const submit = (over = typed.etag) =>
    save.mutate({ inputs: [player.id, changes], if_match: over }, { onSuccess: onClose });
  return (
    <Dialog
      title={m.edit.title(name)}
      onClose={onClose}
      mayClose={() => !save.isPending}
      actions={
        <>
          <Button onClick={onClose} disabled={save.isPending}>
            {t.confirm.cancel}
          </Button>
          <Button
            kind={lifts ? 'danger' : 'primary'}
            disabled={save.isPending || masked.length > 0 || Object.keys(changes).length === 0}
            onClick={() => submit()}
          >
            {lifts ? m.edit.lift : t.form.save}
          </Button>
        </>
      }
    >
      {isConflict(save.error) ? (
        <Conflict
          error={withMaskedContacts(save.error)}
          changes={changes}
          onMine={submit}
          verb={lifts ? m.edit.lift : undefined}
          onTheirs={() => {
            typed.reset();
            save.reset();
          }}
        />
      ) : null}
      <Form disabled={save.isPending}>
        {CONTACTS.map((field) => (
          <ContactField
            key={field}
            field={field}
            saved={player[field]}
            draft={draft}
            onChange={typed.change}
            error={masked.includes(field) ? m.edit.isMask : undefined}
          />
        ))}
        <Field label={m.timezone} hint={m.edit.zoneHint}>
          {(control) => (
            <input
              {...control}
              maxLength={64}
              value={draft.timezone}
              onChange={({ target }) => typed.change({ timezone: target.value })}
            />
          )}
        </Field>
        <Field
          label={m.columns.status}
          hint={
            changes['status'] === undefined
              ? unchanged_hint
              : m.edit.statusHints[lifts ? 'lifted' : draft.status]
          }
        >
          {(control) => (
            <select
              {...control}
              value={draft.status}
              onChange={({ target }) => typed.change({ status: target.value })}
            >
              {[...new Set([player.status, ...settable])].map((status) => (
                <option key={status} value={status}>
                  {m.statuses[status] ?? status}
                </option>
              ))}
            </select>
          )}
        </Field>
      </Form>
      {save.error === null || isConflict(save.error) ? null : <Failed error={save.error} />}
    </Dialog>
  );
}

function ContactField({
  field,
  saved,
  draft,
  onChange,
  error,
}: {
  field: Contact;
  saved: string | null;
  draft: Draft;
  onChange: (values: Partial<Draft>) => void;
  error: string | undefined;
}) {
  const removes = draft[`no_${field}`];
  return (
    <div>
      <Field
        label={m.edit.contacts[field]}
        hint={saved === null ? m.edit.noneSaved : m.edit.saved(maskText(saved))}
        error={error}
      >
        {(control) => (
          <input
            {...control}
            maxLength={320}
            autoComplete="off"
            disabled={removes}
            value={removes ? '' : draft[field]}
            onChange={({ target }) => onChange({ [field]: target.value })}
          />
        )}
      </Field>
      {saved === null ? null : (
        <label>
          <input
            type="checkbox"
            checked={removes}
            onChange={({ target }) => onChange({ [`no_${field}`]: target.checked })}
          />{' '}
          {m.edit.remove[field]}
        </label>
      )}
    </div>
  );
}

/** Whether it was copied from where it is masked: such a text is not a contact. */
const isMask = (text: string) => text.includes('•');

/** The body of the PATCH. A contact is in it when a new one was typed, or when it is to be removed. */
function patchOf(changes: Partial<Draft>, draft: Draft): Readonly<Record<string, string | null>> {
  const contacts = CONTACTS.flatMap((field): [string, string | null][] => {
    if (draft[`no_${field}`]) return [[field, null]];
    const text = draft[field].trim();
    return text === '' ? [] : [[field, text]];
  });
  const zone = changes.timezone?.trim();
  return {
    ...Object.fromEntries(contacts),
    ...(zone === undefined ? {} : { timezone: zone === '' ? null : zone }),
    ...(changes.status === undefined ? {} : { status: changes.status }),
  };
}

/** What somebody else has saved is shown as everywhere: contacts masked. */
function withMaskedContacts({ code, message, status, details, request_id }: ApiError): ApiError {
  const current = details['current'] as Readonly<Record<string, unknown>> | undefined;
  const masked = CONTACTS.flatMap((field): [string, string][] => {
    const value = current?.[field];
    return typeof value === 'string' ? [[field, maskText(value)]] : [];
  });
  return new ApiError(code, message, {
    status,
    request_id,
    details: { ...details, current: { ...current, ...Object.fromEntries(masked) } },
  });
}
