import { t } from '../../messages/t.ts';
import { Form, Row } from '../../ui/form.tsx';
import { Input, optionsOf, SecretInput, Select, type RecordForm } from '../../ui/record-field.tsx';
import { TOKEN } from './adapter-fields.ts';
import type { AdapterKind } from './queries.ts';

const m = t.developers.adapter;
const YES_OR_NO = [
  { value: 'true', name: m.yes },
  { value: 'false', name: m.no },
];

/** Where a platform is, and what is sent to it in addition to the signature. */
export function Address({ form, has_token }: { form: RecordForm; has_token: boolean }) {
  return (
    <>
      <Input form={form} path="base_url" label={m.baseUrl} hint={m.baseUrlHint} max={500} />
      <Row>
        <Select form={form} path="auth.type" label={m.auth} options={optionsOf(m.auths)} />
        {form.texts['auth.type'] === 'bearer' ? (
          <SecretInput form={form} path={TOKEN} label={m.token} hint={has_token ? m.keptHint : m.tokenHint} />
        ) : null}
      </Row>
    </>
  );
}

/** Whether bonuses of the project are granted by it. */
export function IsActive({ form }: { form: RecordForm }) {
  return <Select form={form} path="is_active" label={m.isActive} hint={m.isActiveHint} options={YES_OR_NO} />;
}

/** What can be changed in an adapter. A sandbox is not called, so it has neither an address nor limits. */
export function AdapterForm({
  form,
  kind,
  has_token,
  disabled,
}: {
  form: RecordForm;
  kind: AdapterKind;
  has_token: boolean;
  disabled: boolean;
}) {
  const flag = (path: string, label: string) => (
    <Select form={form} path={`capabilities.${path}`} label={label} options={YES_OR_NO} />
  );
  return (
    <Form disabled={disabled}>
      <IsActive form={form} />
      {kind === 'http' ? (
        <>
          <Address form={form} has_token={has_token} />
          <h3>{m.limits}</h3>
          <Row>
            <Input
              form={form}
              path="timeout_ms"
              label={m.timeout}
              hint={m.timeoutHint}
              mode="numeric"
              max={6}
            />
            <Input form={form} path="max_rps" label={m.rps} mode="numeric" max={6} />
            <Input form={form} path="max_in_flight" label={m.inFlight} mode="numeric" max={6} />
          </Row>
        </>
      ) : null}
      <h3>{m.can}</h3>
      <Row>
        {flag('grant', m.grant)}
        {flag('cancel', m.cancel)}
        {flag('status', m.statusCall)}
        {flag('kyc', m.kyc)}
      </Row>
      <Select
        form={form}
        path="capabilities.completion"
        label={m.completion}
        options={optionsOf(m.completions)}
      />
    </Form>
  );
}
