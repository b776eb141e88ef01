import { wordsOf } from '../../format/code-words.ts';
import { useState } from 'react';
import { oneOf, CHANNELS, type Channel } from '../../api/choices.ts';
import { useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Row } from '../../ui/form.tsx';
import { Failed } from '../../ui/states.tsx';
import { Choose } from '../../ui/choose.tsx';
import { PROVIDER_KINDS, useTestTemplates, type ProviderRecord, type TestTemplate } from './queries.ts';
import css from './settings.module.css';

const m = t.settings;

/** Makes a provider. Its settings are JSON, because each kind has others; secrets in them are never shown again. */
export function NewProvider({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [kind, setKind] = useState<ProviderRecord['kind']>('smtp');
  const [channel, setChannel] = useState<Channel>('email');
  const [config, setConfig] = useState('{}');
  const create = useChange('messagingProviders.create');
  const parsed = objectOf(config);
  const submit = () =>
    create.mutate(
      { inputs: [{ name: name.trim(), kind, channel, config: parsed, status: 'paused' }] },
      { onSuccess: onClose },
    );
  return (
    <ActDialog
      title={m.newProvider}
      verb={m.createProvider}
      busy={create.isPending}
      ready={name.trim() !== '' && parsed !== undefined}
      error={create.error}
      onAct={submit}
      onClose={onClose}
    >
      <p>{m.newProviderText}</p>
      <Field label={m.name}>
        {(control) => (
          <input {...control} maxLength={200} value={name} onChange={({ target }) => setName(target.value)} />
        )}
      </Field>
      <Row>
        <Choose
          label={m.kind}
          options={PROVIDER_KINDS.map((value) => ({ value, label: value }))}
          value={kind}
          onChange={(value) => setKind(oneOf(PROVIDER_KINDS, value) ?? kind)}
        />
        <Choose
          label={m.channel}
          options={CHANNELS.map((value) => ({ value, label: t.names.channels[value] }))}
          value={channel}
          onChange={(value) => setChannel(oneOf(CHANNELS, value) ?? channel)}
        />
      </Row>
      <Field
        label={m.providerConfig}
        hint={m.configHints[kind]}
        error={parsed === undefined ? m.noObject : undefined}
      >
        {(control) => (
          <textarea
            {...control}
            className={css['config']}
            spellCheck={false}
            value={config}
            onChange={({ target }) => setConfig(target.value)}
          />
        )}
      </Field>
    </ActDialog>
  );
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const is_object = typeof value === 'object' && value !== null && !Array.isArray(value);
    return is_object ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Sends a template to one address through a provider, also through a paused one. */
export function TestProvider({
  of: { id, name, channel },
  onClose,
}: {
  of: ProviderRecord;
  onClose: () => void;
}) {
  const [template_id, setTemplate] = useState<string | null>(null);
  const [recipient, setRecipient] = useState('');
  const test = useChange('templates.sendTest');
  const result = test.data?.data;
  const submit = () => {
    if (template_id === null) return;
    test.mutate({ inputs: [template_id, { recipient: recipient.trim(), provider_id: id }] });
  };
  return (
    <Dialog
      title={m.testTitle(name.slice(0, 100))}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t.dialog.close}</Button>
          <Button
            kind="primary"
            disabled={test.isPending || template_id === null || recipient.trim() === ''}
            onClick={submit}
          >
            {m.sendTest}
          </Button>
        </>
      }
    >
      <Choice<TestTemplate>
        label={m.template}
        pages={useTestTemplates(channel)}
        value={template_id}
        none={m.chooseTemplate}
        keyOf={(row) => row.id}
        nameOf={(row) => row.name}
        onChange={setTemplate}
      />
      <Field label={m.recipient} hint={m.recipientHint}>
        {(control) => (
          <input
            {...control}
            maxLength={4_096}
            autoComplete="off"
            value={recipient}
            onChange={({ target }) => setRecipient(target.value)}
          />
        )}
      </Field>
      {test.error === null ? null : <Failed error={test.error} />}
      {result === undefined ? null : (
        <p role="status">
          <Badge tone={result.status === 'sent' ? 'good' : 'bad'}>
            {result.status === 'sent'
              ? m.testSent(result.recipient)
              : m.testFailed(wordsOf(result.error_code ?? ''))}
          </Badge>
        </p>
      )}
    </Dialog>
  );
}
