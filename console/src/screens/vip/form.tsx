import type { Currency } from '../../format/money.ts';
import { t } from '../../messages/t.ts';
import { Form, Row } from '../../ui/form.tsx';
import { MoneyInput } from '../../ui/money-input.tsx';
import { Input, optionsOf, Select, type RecordForm } from '../../ui/record-field.tsx';
import type { Tier } from './queries.ts';
import css from './vip.module.css';

const m = t.vip;
const label = (path: string) => m.fields[path] ?? path;
const KNOWN_PERKS = new Set(['cashback_pct', 'dedicated_host', 'priority_kyc']);

interface FormProps {
  form: RecordForm;
  tier: Tier | undefined;
  disabled: boolean;
  base: Currency;
}

/** The fields of a tier. */
export function TierForm({ form, tier, disabled, base }: FormProps) {
  const number = (path: string, mode: 'numeric' | 'decimal' = 'numeric') => (
    <Input form={form} path={path} label={label(path)} hint={m.hints[path]} mode={mode} max={30} />
  );
  const text = (path: string, max = 200) => (
    <Input form={form} path={path} label={label(path)} hint={m.hints[path]} max={max} />
  );
  const money = (path: string) => <MoneyInput form={form} path={path} name={label(path)} currency={base} />;
  const yesNo = (path: string) => (
    <Select form={form} path={path} label={label(path)} options={optionsOf(m.yesNo)} />
  );
  const other = Object.keys(tier?.perks ?? {}).filter((name) => !KNOWN_PERKS.has(name));
  return (
    <Form disabled={disabled}>
      <section className={css['section']} aria-label={m.sections.tier}>
        <h2>{m.sections.tier}</h2>
        <Row>
          {text('name')}
          {tier === undefined ? (
            text('code', 40)
          ) : (
            <Input
              form={{ ...form, texts: { code: tier.code } }}
              path="code"
              label={label('code')}
              disabled
            />
          )}
          {number('rank')}
          {text('color', 7)}
          {text('glyph', 32)}
          <Select form={form} path="is_active" label={label('is_active')} options={optionsOf(m.statuses)} />
        </Row>
      </section>
      <section className={css['section']} aria-label={m.sections.requirements}>
        <h2>{m.sections.requirements}</h2>
        <Row>
          {money('requirements.lifetime_deposit_subunit')}
          {money('requirements.lifetime_wagered_subunit')}
          {number('requirements.min_days_active')}
        </Row>
      </section>
      <section className={css['section']} aria-label={m.sections.demotion}>
        <h2>{m.sections.demotion}</h2>
        <Row>
          {number('demotion.inactivity_days')}
          {number('demotion.grace_days')}
        </Row>
      </section>
      <section className={css['section']} aria-label={m.sections.perks}>
        <h2>{m.sections.perks}</h2>
        <Row>
          {number('perks.cashback_pct', 'decimal')}
          {yesNo('perks.dedicated_host')}
          {yesNo('perks.priority_kyc')}
        </Row>
        {form.texts['perks.dedicated_host'] === 'true' ? <p>{m.hostHint}</p> : null}
        {other.length === 0 ? null : <p>{m.otherPerks(other.join(', ').slice(0, 400))}</p>}
      </section>
    </Form>
  );
}
