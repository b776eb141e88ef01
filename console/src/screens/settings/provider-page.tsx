import type { ReactNode } from 'react';
import { useDraft } from '../../api/draft.ts';
import { usePlace } from '../../api/place.tsx';
import { useChange } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { atPaths, patchAt, textsOf, valuesOf, type Texts } from '../../format/record-texts.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { AuditTab } from '../../ui/audit.tsx';
import { Button } from '../../ui/button.tsx';
import { SaveFailure } from '../../ui/conflict.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Buttons, Form } from '../../ui/form.tsx';
import { Input, SecretInput, Select, type RecordForm } from '../../ui/record-field.tsx';
import { Answered } from '../../ui/states.tsx';
import { UnsavedGuard } from '../../ui/unsaved.tsx';
import { providerFields, type ProviderField } from './provider-fields.ts';
import { ProviderState } from './provider-state.tsx';
import { useProvider, type ProviderRecord } from './queries.ts';

const m = t.settings;
/** No field is an amount. */
const scaleOf = () => undefined;

/** One provider and its settings; only admins change them. */
export function ProviderPage({ id, onBack }: { id: string; onBack: () => void }) {
  return (
    <>
      <Buttons>
        <Button onClick={onBack}>{m.allProviders}</Button>
      </Buttons>
      <Answered asked={useProvider(id)} what={m.oneProvider}>
        {({ data, etag }) => (
          <>
            <Editor provider={data} etag={etag} />
            <h2>{t.audit.title}</h2>
            <AuditTab type="messaging_provider" id={id} />
          </>
        )}
      </Answered>
    </>
  );
}

function Editor({ provider, etag }: { provider: ProviderRecord; etag: string | undefined }) {
  const { id, name, kind, channel, credentials_refused } = provider;
  const { role } = usePlace();
  const may_edit = roleAllows(role, 'admin');
  const save = useChange('messagingProviders.update');
  const fields = providerFields(kind);
  const { draft, changes, dirty, ...typed } = useDraft<Texts>(textsOf(provider, fields, scaleOf), etag);
  const { values, issues } = read(draft, fields);
  const submit = async (over = typed.etag) => {
    const body = patchAt(Object.keys(changes), values);
    const answer = await save.mutateAsync({ inputs: [id, body], if_match: over }).catch(() => undefined);
    if (answer !== undefined) typed.reset();
  };
  const form: RecordForm = {
    texts: draft,
    issues: [...issues, ...(save.error?.issues ?? [])],
    change: typed.change,
  };
  return (
    <>
      <UnsavedGuard dirty={dirty} leaves={({ search }) => search['provider'] !== id} />
      <h2>
        <bdi>{name}</bdi>
      </h2>
      <Facts
        label={m.oneProvider}
        facts={[
          [m.kind, kind],
          [m.channel, t.names.channels[channel]],
          [m.state, <ProviderState key="state" of={provider} />],
          ...refusalOf(credentials_refused),
        ]}
      />
      {credentials_refused === null ? null : <p role="alert">{m.credentialsRefusedText}</p>}
      {may_edit ? null : <Badge>{t.form.viewer(role)}</Badge>}
      <SaveFailure
        save={save}
        forget={typed.reset}
        changes={shownChanges(changes, values, fields)}
        onMine={(newer) => void submit(newer)}
      />
      <Form disabled={!may_edit || save.isPending}>
        {fields.map((field) => (
          <SettingOf key={field.path} field={field} form={form} />
        ))}
      </Form>
      {may_edit ? (
        <Buttons>
          <Button
            kind="primary"
            disabled={!dirty || save.isPending || issues.length > 0}
            onClick={() => void submit()}
          >
            {t.form.save}
          </Button>
        </Buttons>
      ) : null}
    </>
  );
}

/** What the provider said when it refused its credentials, and since when. */
function refusalOf(refused: ProviderRecord['credentials_refused']): [string, ReactNode][] {
  if (refused === null) return [];
  const said = [refused.code, refused.message].filter((part) => part !== null).join(': ');
  return [
    [m.refusedSince, <Time key="since" at={refused.at} />],
    [m.providerSaid, <bdi key="said">{said}</bdi>],
  ];
}

/** The values of the form; secrets are exactly what was typed, spaces included. */
function read(texts: Texts, fields: readonly ProviderField[]) {
  const { values, issues } = valuesOf(texts, fields, { scaleOf, complaints: t.bonuses.complaints });
  const secrets = fields.flatMap(({ path, is_secret }) => {
    const text = texts[path];
    return is_secret === true && text !== undefined && text !== '' ? [[path.split('.')[1] ?? '', text]] : [];
  });
  const config = { ...(values['config'] as object | undefined), ...Object.fromEntries(secrets) };
  return { values: { ...values, config }, issues };
}

const YES_OR_NO = [
  { value: '', name: m.asUsual },
  { value: 'true', name: m.yes },
  { value: 'false', name: m.no },
];

function SettingOf({ field: { path, kind, is_secret }, form }: { field: ProviderField; form: RecordForm }) {
  const label = m.providerFields[path] ?? path;
  const hint = m.providerHints[path];
  if (is_secret === true) return <SecretInput form={form} path={path} label={label} hint={m.secretKept} />;
  if (kind === 'flag')
    return <Select form={form} path={path} label={label} hint={hint} options={YES_OR_NO} />;
  return (
    <Input
      form={form}
      path={path}
      label={label}
      hint={hint}
      max={1_000}
      mode={kind === 'int' ? 'numeric' : 'text'}
    />
  );
}

/** What was typed, by field; of a secret only that there is one. */
function shownChanges(
  changes: Texts,
  values: Readonly<Record<string, unknown>>,
  fields: readonly ProviderField[],
): Record<string, unknown> {
  const secrets = fields.filter(({ path, is_secret }) => is_secret === true && path in changes);
  const hidden = Object.fromEntries(secrets.map(({ path }) => [path, m.newSecret]));
  return { ...atPaths(values, Object.keys(changes)), ...hidden };
}
