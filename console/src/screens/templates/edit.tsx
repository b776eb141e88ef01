import type { ApiError } from '@player-engagement/client/admin';
import { oneOf, CHANNELS } from '../../api/choices.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Code } from '../../ui/code.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, Row } from '../../ui/form.tsx';
import { issuesOf, type Draft } from './draft.ts';
import { STATUSES, type TemplateRecord } from './queries.ts';
import css from './templates.module.css';
import { VARIABLES } from './variables.ts';

const m = t.templates;

interface EditProps {
  draft: Draft;
  is_new: boolean;
  disabled: boolean;
  /** Of the last attempt to save. */
  error: ApiError | null;
  onChange: (change: Partial<Draft>) => void;
}

/** The fields of a template: those that its channel has. */
export function Edit({ draft, is_new, disabled, error, onChange }: EditProps) {
  const { channel } = draft;
  const text = (field: 'name' | 'subject' | 'preheader', label: string, hint?: string) => (
    <Field label={label} hint={hint} error={issueText(error, field)}>
      {(control) => (
        <input
          {...control}
          dir="auto"
          maxLength={field === 'name' ? 200 : 1_000}
          value={draft[field]}
          onChange={({ target }) => onChange({ [field]: target.value })}
        />
      )}
    </Field>
  );
  return (
    <Form disabled={disabled}>
      <Row>
        {text('name', m.name)}
        <Field label={m.channel}>
          {(control) => (
            <select
              {...control}
              disabled={!is_new}
              value={channel}
              onChange={({ target }) => onChange({ channel: oneOf(CHANNELS, target.value) ?? channel })}
            >
              {CHANNELS.map((one) => (
                <option key={one} value={one}>
                  {t.names.channels[one]}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={m.status}>
          {(control) => (
            <select
              {...control}
              value={draft.status}
              onChange={({ target }) => onChange({ status: oneOf(STATUSES, target.value) ?? draft.status })}
            >
              {STATUSES.map((one) => (
                <option key={one} value={one}>
                  {m.statuses[one]}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Product value={draft.bonus_product} onChange={(bonus_product) => onChange({ bonus_product })} />
      </Row>
      {channel === 'sms' ? null : text('subject', channel === 'push' ? m.pushTitle : m.subject)}
      {channel === 'email' ? text('preheader', m.preheader, m.preheaderHint) : null}
      <Code
        label={channel === 'email' ? m.html : m.text}
        value={draft.body}
        issues={issuesOf(error, 'body')}
        disabled={disabled}
        onChange={(body) => onChange({ body })}
      />
      <p className={css['soft']}>{m.length(draft.body.length)}</p>
      {disabled ? null : (
        <details>
          <summary>{m.variables}</summary>
          <p className={css['soft']}>{m.variablesHint}</p>
          <div className={css['variables']}>
            {VARIABLES.map((name) => (
              <Button key={name} onClick={() => onChange({ body: `${draft.body}{{ ${name} }}` })}>
                <code>{name}</code>
              </Button>
            ))}
          </div>
        </details>
      )}
    </Form>
  );
}

const PRODUCTS = Object.keys(m.products) as (keyof typeof m.products)[];

function Product({
  value,
  onChange,
}: {
  value: TemplateRecord['bonus_product'];
  onChange: (value: TemplateRecord['bonus_product']) => void;
}) {
  return (
    <Field label={m.product} hint={m.productHint}>
      {(control) => (
        <select
          {...control}
          value={value ?? ''}
          onChange={({ target }) => onChange(oneOf(PRODUCTS, target.value) ?? null)}
        >
          <option value="">{m.noProduct}</option>
          {PRODUCTS.map((key) => (
            <option key={key} value={key}>
              {m.products[key]}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function issueText(error: ApiError | null, field: string): string | undefined {
  const issues = issuesOf(error, field);
  return issues.length === 0 ? undefined : issues.map(({ message }) => message).join('; ');
}
