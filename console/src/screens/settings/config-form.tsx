import { wordIn } from '../../format/code-words.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, Row } from '../../ui/form.tsx';
import { CAP_FIELDS, listed, valuesOf, type CapField, type Draft } from './draft.ts';
import type { TenantConfig } from './queries.ts';
import css from './settings.module.css';

const m = t.settings;

interface FormProps {
  draft: Draft;
  catalogue: TenantConfig['catalogue'];
  onChange: (change: Partial<Draft>) => void;
}

/** The fields of the configuration. */
export function ConfigForm({ draft, catalogue, onChange }: FormProps) {
  const defaults = catalogue.license_defaults[draft.license_jurisdiction];
  const select = (
    field: 'license_jurisdiction' | 'kyc_model',
    options: readonly { value: string; label: string }[],
  ) => (
    <Field label={m.fields[field]} hint={field === 'license_jurisdiction' ? defaults?.hint : undefined}>
      {(control) => (
        <select
          {...control}
          value={draft[field]}
          onChange={({ target }) => onChange({ [field]: target.value })}
        >
          {field === 'license_jurisdiction' ? <option value="">{m.noLicence}</option> : null}
          {options.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
  const text = (
    field: CapField | 'quiet_start' | 'quiet_end' | 'quiet_zone' | 'reporting_zone',
    type = 'text',
    hint?: string,
  ) => (
    <Field key={field} label={m.fields[field]} hint={hint}>
      {(control) => (
        <input
          {...control}
          type={type}
          {...(type === 'number' ? { min: 0, max: 1_000_000, step: 1 } : { maxLength: 100 })}
          value={draft[field]}
          onChange={({ target }) => onChange({ [field]: target.value })}
        />
      )}
    </Field>
  );
  return (
    <Form>
      <Row>
        {select('license_jurisdiction', catalogue.licenses)}
        {select('kyc_model', catalogue.kyc_models)}
      </Row>
      {defaults === undefined ? null : (
        <div>
          <Button
            onClick={() =>
              onChange({
                verticals: listed(defaults.suggested_verticals),
                rg_features: listed(defaults.rg_features),
                kyc_model: defaults.kyc_model,
              })
            }
          >
            {m.takeSuggestions}
          </Button>
        </div>
      )}
      <Checks
        label={m.fields.verticals}
        options={catalogue.verticals}
        value={draft.verticals}
        onChange={(verticals) => onChange({ verticals })}
      />
      <Checks
        label={m.fields.rg_features}
        options={catalogue.rg_features.map((value) => ({ value, label: wordIn(t.names.rgFeatures, value) }))}
        value={draft.rg_features}
        onChange={(rg_features) => onChange({ rg_features })}
      />
      <h2>{m.reporting}</h2>
      <Row>{text('reporting_zone', 'text', m.reportingHint)}</Row>
      <h2>{m.messaging}</h2>
      <label className={css['check']}>
        <input
          type="checkbox"
          checked={draft.consent_required}
          onChange={({ target }) => onChange({ consent_required: target.checked })}
        />
        {m.fields.consent_required}
      </label>
      <Row>
        {text('quiet_start', 'time')}
        {text('quiet_end', 'time')}
        {text('quiet_zone', 'text', m.zoneHint)}
      </Row>
      <Row>{CAP_FIELDS.map((field) => text(field, 'number'))}</Row>
      <p className={css['soft']}>{m.capsHint}</p>
    </Form>
  );
}

function Checks({
  label,
  options,
  value,
  onChange,
}: {
  label: string;
  options: readonly { value: string; label: string }[];
  value: string;
  onChange: (value: string) => void;
}) {
  const chosen = valuesOf(value);
  const toggle = (one: string, is_on: boolean) =>
    onChange(listed(is_on ? [...chosen, one] : chosen.filter((other) => other !== one)));
  return (
    <fieldset className={css['checks']}>
      <legend>{label}</legend>
      {options.map((option) => (
        <label key={option.value} className={css['check']}>
          <input
            type="checkbox"
            checked={chosen.includes(option.value)}
            onChange={({ target }) => toggle(option.value, target.checked)}
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}
