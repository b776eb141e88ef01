import { useState } from 'react';
import type { ApiKeyKind } from '@player-engagement/client/admin';
import { usePlace } from '../../api/place.tsx';
import { useChange } from '../../api/queries.ts';
import { fromLocalField, toLocalField } from '../../format/time.ts';
import { Time, useZone } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Field } from '../../ui/field.tsx';
import { KEY_KINDS, type ApiKeyRecord } from './queries.ts';
import { Secret, SecretText } from './secret.tsx';

const m = t.developers;

/** What the fields of a key have. */
interface KeyTexts {
  name: string;
  kind: ApiKeyKind;
  /** One origin a line. */
  origins: string;
  /** Empty: no end. */
  expires_at: string;
}

function textsOf(key: ApiKeyRecord | undefined): KeyTexts {
  return {
    name: key?.name ?? '',
    kind: key?.kind ?? 'server',
    origins: key?.allowed_origins.join('\n') ?? '',
    expires_at: key?.expires_at ?? '',
  };
}

function originsOf({ origins }: KeyTexts): string[] {
  return origins
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

interface FieldsProps {
  texts: KeyTexts;
  /** The kind of a key that exists cannot be changed. */
  is_new: boolean;
  onChange: (change: Partial<KeyTexts>) => void;
}

function KeyFields({ texts, is_new, onChange }: FieldsProps) {
  const { name: zone } = useZone();
  const { name, kind, origins, expires_at } = texts;
  return (
    <>
      <Field label={m.name} hint={m.nameHint}>
        {(control) => (
          <input
            {...control}
            maxLength={200}
            dir="auto"
            value={name}
            onChange={({ target }) => onChange({ name: target.value })}
          />
        )}
      </Field>
      {is_new ? (
        <Field label={m.kind} hint={m.kept[kind]}>
          {(control) => (
            <select
              {...control}
              value={kind}
              onChange={({ target }) =>
                onChange({ kind: KEY_KINDS.find((one) => one === target.value) ?? 'server' })
              }
            >
              {KEY_KINDS.map((one) => (
                <option key={one} value={one}>
                  {m.kinds[one]}
                </option>
              ))}
            </select>
          )}
        </Field>
      ) : (
        <p>{m.kept[kind]}</p>
      )}
      {kind === 'client' ? (
        <Field label={m.origins} hint={m.originsHint}>
          {(control) => (
            <textarea
              {...control}
              rows={3}
              spellCheck={false}
              value={origins}
              onChange={({ target }) => onChange({ origins: target.value })}
            />
          )}
        </Field>
      ) : null}
      <Field label={m.endsAt(zone)} hint={m.endsHint}>
        {(control) => (
          <input
            {...control}
            type="datetime-local"
            value={expires_at === '' ? '' : toLocalField(expires_at, zone)}
            onChange={({ target }) => onChange({ expires_at: fromLocalField(target.value, zone) ?? '' })}
          />
        )}
      </Field>
    </>
  );
}

/** Makes a key, maybe in place of `like`, and shows its secrets, which no later answer has. */
export function NewKey({ like, onClose }: { like: ApiKeyRecord | undefined; onClose: () => void }) {
  const [texts, setTexts] = useState({ ...textsOf(like), expires_at: '' });
  const { project_id, project_name } = usePlace();
  const create = useChange('projects.apiKeys.create');
  const made = create.data?.data;
  if (made !== undefined) {
    const { client_secret } = made;
    return (
      <Secret
        title={m.made(made.name)}
        secret={made.key}
        what={m.secret}
        onClose={onClose}
        further={
          client_secret === undefined ? null : (
            <>
              <p>{m.clientSecretText}</p>
              <SecretText secret={client_secret} what={m.clientSecret} />
            </>
          )
        }
      >
        <p>{m.onlyOnce}</p>
        <p>{m.kept[made.kind ?? 'server']}</p>
      </Secret>
    );
  }
  const { name, kind, expires_at } = texts;
  const body = {
    name: name.trim(),
    kind,
    ...(kind === 'client' ? { allowed_origins: originsOf(texts) } : {}),
    ...(expires_at === '' ? {} : { expires_at }),
    ...(like === undefined || like.ingest_rate === null ? {} : { ingest_rate: like.ingest_rate }),
  };
  return (
    <ActDialog
      title={m.newKey}
      verb={m.createKey}
      busy={create.isPending}
      ready={name.trim() !== ''}
      error={create.error}
      onAct={() => create.mutate({ inputs: [project_id, body] })}
      onClose={onClose}
    >
      <p>{like === undefined ? m.keyFor(project_name) : m.replaceText(like.prefix)}</p>
      <KeyFields texts={texts} is_new onChange={(change) => setTexts({ ...texts, ...change })} />
    </ActDialog>
  );
}

/** Changes name, origins and end of a key, and says which clients have used it. */
export function ChangeKey({ of, onClose }: { of: ApiKeyRecord; onClose: () => void }) {
  const [texts, setTexts] = useState(textsOf(of));
  const { project_id } = usePlace();
  const change = useChange('projects.apiKeys.update');
  const { name, expires_at } = texts;
  const is_changed = expires_at !== (of.expires_at ?? '');
  const body = {
    name: name.trim(),
    ...(of.kind === 'client' ? { allowed_origins: originsOf(texts) } : {}),
    ...(is_changed ? { expires_at: expires_at === '' ? null : expires_at } : {}),
  };
  return (
    <ActDialog
      title={m.changeTitle(of.name)}
      verb={m.save}
      busy={change.isPending}
      ready={name.trim() !== ''}
      error={change.error}
      onAct={() => change.mutate({ inputs: [project_id, of.id, body] }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <KeyFields texts={texts} is_new={false} onChange={(more) => setTexts({ ...texts, ...more })} />
      {of.last_used_by.length === 0 ? null : (
        <Facts
          label={m.lastUsed}
          facts={of.last_used_by.map(({ client, last_used_at }) => [
            m.clients[client],
            <Time key={client} at={last_used_at} ago />,
          ])}
        />
      )}
    </ActDialog>
  );
}
