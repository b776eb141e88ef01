import type { Currency } from '../../format/money.ts';
import { fromLocalField, toLocalField } from '../../format/time.ts';
import { useZone } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Choice } from '../../ui/choice.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, Row } from '../../ui/form.tsx';
import { MoneyInput } from '../../ui/money-input.tsx';
import { Input, issueAt, optionsOf, Select, type RecordForm } from '../../ui/record-field.tsx';
import { needsDeposit, useSegmentChoice, type BonusTemplate, type useTemplateChoice } from './queries.ts';

const m = t.bonuses.campaign;
const label = (path: string) => m.fields[path] ?? path;

interface FormProps {
  form: RecordForm;
  disabled: boolean;
  templates: ReturnType<typeof useTemplateChoice>;
  /** The chosen one. */
  template: BonusTemplate | undefined;
  currencies: readonly Currency[];
  /** That of the grants. */
  currency: Currency | undefined;
  base: Currency | undefined;
}

/** The fields of a bonus campaign. */
export function CampaignForm({ form, disabled, templates, template, currencies, currency, base }: FormProps) {
  const { texts, change } = form;
  const { name: zone } = useZone();
  const chosen = (path: string) => (texts[path] === '' ? null : (texts[path] ?? null));
  const schedule_at = texts['schedule_at'] ?? '';
  const with_deposit = template !== undefined && needsDeposit(template.type);
  return (
    <Form disabled={disabled}>
      <Row>
        <Input form={form} path="name" label={label('name')} />
        <Choice
          label={label('template_id')}
          pages={templates}
          value={chosen('template_id')}
          none={m.noTemplate}
          keyOf={({ id }) => id}
          nameOf={({ name }) => name}
          error={issueAt(form, 'template_id')}
          onChange={(id) => change({ template_id: id ?? '' })}
        />
        <Choice
          label={label('segment_id')}
          pages={useSegmentChoice()}
          value={chosen('segment_id')}
          none={m.noSegment}
          keyOf={({ id }) => id}
          nameOf={({ name }) => name}
          error={issueAt(form, 'segment_id')}
          onChange={(id) => change({ segment_id: id ?? '' })}
        />
        <Select
          form={form}
          path="currency_override"
          label={label('currency_override')}
          options={[
            { value: '', name: m.ownCurrency },
            ...currencies.map(({ code }) => ({ value: code, name: code })),
          ]}
        />
      </Row>
      {with_deposit ? (
        <Row>
          <Select
            form={{ ...form, change: (next) => change({ ...next, deposit_amount: '' }) }}
            path="deposit_from"
            label={label('deposit_from')}
            options={optionsOf(m.deposits)}
          />
          {chosen('deposit_from') === null ? (
            <MoneyInput
              form={form}
              path="deposit_amount"
              currency={currency}
              name={label('deposit_amount')}
              hint={m.depositHint}
            />
          ) : null}
        </Row>
      ) : null}
      <Row>
        <MoneyInput
          form={form}
          path="max_liability"
          currency={base}
          name={label('max_liability')}
          hint={m.budgetHint}
        />
        <Input form={form} path="max_grants" label={label('max_grants')} mode="numeric" max={12} />
        <Input
          form={form}
          path="holdout_percent"
          label={label('holdout_percent')}
          hint={t.effect.holdoutHint}
          mode="decimal"
          max={6}
        />
        <Input form={form} path="rate_per_second" label={label('rate_per_second')} mode="numeric" max={7} />
      </Row>
      <Row>
        <MoneyInput
          form={form}
          path="daily_budget_base"
          currency={base}
          name={label('daily_budget_base')}
          hint={m.dailyHint}
        />
        {chosen('daily_budget_base') === null ? null : (
          <Select form={form} path="pace" label={label('pace')} options={optionsOf(m.paces)} />
        )}
      </Row>
      <Row>
        <Field label={m.scheduleAt(zone)} hint={m.scheduleHint} error={issueAt(form, 'schedule_at')}>
          {(control) => (
            <input
              {...control}
              type="datetime-local"
              value={schedule_at === '' ? '' : toLocalField(schedule_at, zone)}
              onChange={({ target }) => change({ schedule_at: fromLocalField(target.value, zone) ?? '' })}
            />
          )}
        </Field>
        <Select
          form={form}
          path="qualifying_product"
          label={label('qualifying_product')}
          options={[{ value: '', name: m.noProduct }, ...optionsOf(t.bonuses.template.products)]}
        />
        <Select
          form={form}
          path="advertising"
          label={label('advertising')}
          options={optionsOf(m.advertising)}
        />
      </Row>
    </Form>
  );
}
