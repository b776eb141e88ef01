import type { CreateAdapterBody } from '@player-engagement/client/admin';
import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { valuesOf, type Texts } from '../../format/record-texts.ts';
import { t } from '../../messages/t.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Form } from '../../ui/form.tsx';
import { Input, optionsOf, Select } from '../../ui/record-field.tsx';
import { authOf, FIELDS } from './adapter-fields.ts';
import { Address, IsActive } from './adapter-form.tsx';
import type { Adapter } from './queries.ts';
import { Secret } from './secret.tsx';

const m = t.developers.adapter;
const NEW: Texts = { slug: '', kind: 'http', base_url: '', 'auth.type': 'none', is_active: 'true' };
const SLUG = /^[a-z0-9-]{3,40}$/;

/** Makes an adapter with the limits and capabilities that the API gives a new one, and shows its secret. */
export function NewAdapter({ onClose }: { onClose: () => void }) {
  const [texts, setTexts] = useState(NEW);
  const create = useChange('adapters.create');
  const made = create.data?.data;
  if (made !== undefined) {
    return (
      <Secret title={m.made(made.slug)} secret={made.secret} what={m.secret} onClose={onClose}>
        <p>{m.onlyOnce}</p>
      </Secret>
    );
  }
  const { slug = '', kind = 'http' } = texts;
  const is_http = kind === 'http';
  const submit = () => {
    const { values } = valuesOf(texts, FIELDS, {
      scaleOf: () => undefined,
      complaints: t.bonuses.complaints,
    });
    const address = is_http ? { base_url: values['base_url'], auth: authOf(values) } : {};
    const body = { slug: slug.trim(), kind, is_active: values['is_active'], ...address };
    // The select and the fields have no other values than the API takes; what is wrong in them it says at the field.
    create.mutate({ inputs: [body as CreateAdapterBody] });
  };
  const form = {
    texts,
    issues: create.error?.issues ?? [],
    change: (change: Texts) => setTexts((before) => ({ ...before, ...change })),
  };
  return (
    <ActDialog
      title={m.new}
      verb={m.create}
      busy={create.isPending}
      ready={SLUG.test(slug.trim()) && (!is_http || texts['base_url'] !== '')}
      error={create.error}
      onAct={submit}
      onClose={onClose}
    >
      <Form disabled={create.isPending}>
        <Input form={form} path="slug" label={m.slug} hint={m.slugHint} max={40} />
        <Select form={form} path="kind" label={m.kind} options={optionsOf(m.kinds)} />
        {is_http ? <Address form={form} has_token={false} /> : null}
        <IsActive form={form} />
      </Form>
    </ActDialog>
  );
}

/** Makes a new secret of the adapter, and shows it. */
export function RotateSecret({ of: { id, slug }, onClose }: { of: Adapter; onClose: () => void }) {
  const rotate = useChange('adapters.rotateSecret');
  const made = rotate.data?.data;
  if (made !== undefined) {
    return (
      <Secret title={m.rotated(slug)} secret={made.secret} what={m.secret} onClose={onClose}>
        <p>{m.onlyOnce}</p>
      </Secret>
    );
  }
  return (
    <Confirm
      title={m.rotateTitle(slug)}
      verb={m.rotateVerb}
      busy={rotate.isPending}
      error={rotate.error}
      onClose={onClose}
      onConfirm={() => rotate.mutate({ inputs: [id] })}
    >
      <p>{m.rotateText}</p>
    </Confirm>
  );
}
