import type { TextIssue } from '../../format/record-texts.ts';
import { t } from '../../messages/t.ts';
import { Row } from '../../ui/form.tsx';
import { Input, optionsOf, Select } from '../../ui/record-field.tsx';
import { seriesOf, type AlertDraft } from './alert-draft.ts';
import type { FigureUnit } from './alert-editor.tsx';
import css from './insights.module.css';
import { OneSeries } from './series.tsx';

const m = t.alerts;

interface FieldsProps {
  draft: AlertDraft;
  unit: FigureUnit;
  /** The code of the base currency. */
  currency: string;
  issues: readonly TextIssue[];
  onChange: (changes: Partial<AlertDraft>) => void;
}

/** The figure of an alert, and when it fires. */
export function AlertFields({ draft, unit, currency, issues, onChange }: FieldsProps) {
  const { query, receivers: _receivers, ...texts } = draft;
  const form = { texts, issues, change: (change: object) => onChange(change) };
  const series = seriesOf(query);
  const kind = draft['condition.kind'];
  const op = <Select form={form} path="condition.op" label={m.fields.op} options={optionsOf(m.ops)} />;
  const hint = unit === 'money' ? m.valueHints.money(currency) : m.valueHints[unit];
  return (
    <>
      <Row>
        <Input form={form} path="name" label={m.fields.name} />
        <Select form={form} path="interval" label={m.fields.interval} options={optionsOf(m.intervals)} />
        <Select form={form} path="is_enabled" label={m.fields.enabled} options={optionsOf(m.enabled)} />
      </Row>
      {series === undefined ? (
        <p className={css['soft']}>{m.fixed}</p>
      ) : (
        <fieldset className={css['group']}>
          <legend>{m.figure}</legend>
          <OneSeries
            series={series}
            onSeries={(next) => onChange({ query: { kind: 'trend', series: [next] } })}
          />
        </fieldset>
      )}
      <Row>
        <Select
          form={form}
          path="condition.kind"
          label={m.fields.condition}
          options={optionsOf(m.conditions)}
        />
        {kind === 'threshold' ? (
          <>
            {op}
            <Input form={form} path="condition.value" label={m.value} hint={hint} mode="decimal" max={30} />
          </>
        ) : null}
        {kind === 'change' ? (
          <>
            <Select
              form={form}
              path="condition.against"
              label={m.fields.against}
              options={optionsOf(m.against)}
            />
            {op}
            <Input
              form={form}
              path="condition.bp"
              label={m.change}
              hint={m.changeHint}
              mode="decimal"
              max={10}
            />
          </>
        ) : null}
        {kind === 'unusual' ? (
          <Input
            form={form}
            path="condition.minimum"
            label={m.minimum}
            hint={m.minimumHint}
            mode="numeric"
            max={16}
          />
        ) : null}
      </Row>
    </>
  );
}
