import type { Currency } from '../../format/money.ts';
import { t } from '../../messages/t.ts';
import { Choice } from '../../ui/choice.tsx';
import { Form, Row } from '../../ui/form.tsx';
import { MoneyInput } from '../../ui/money-input.tsx';
import { Input, issueAt, optionsOf, Select, type RecordForm } from '../../ui/record-field.tsx';
import css from './bonuses.module.css';
import { useSegmentChoice, type BonusType } from './queries.ts';
import { basesOf, CONFIG_FIELDS, GAME_KEYS } from './template-fields.ts';

const m = t.bonuses.template;
const label = (path: string) => m.fields[path] ?? path;

interface FormProps {
  form: RecordForm;
  is_new: boolean;
  disabled: boolean;
  currencies: readonly Currency[];
  base: string;
}

/** The fields of a bonus template: those that its type has. */
export function TemplateForm({ form, is_new, disabled, currencies, base }: FormProps) {
  const { texts, change } = form;
  const type = (texts['type'] ?? '') as BonusType;
  const currency = texts['config.currency'] ?? '';
  const text = (path: string) => <Input form={form} path={path} label={label(path)} hint={m.hints[path]} />;
  const number = (path: string, mode: 'numeric' | 'decimal' = 'numeric') => (
    <Input form={form} path={path} label={label(path)} hint={m.hints[path]} mode={mode} max={30} />
  );
  const choice = (path: string, names: Readonly<Record<string, string>>) => (
    <Select form={form} path={path} label={label(path)} options={optionsOf(names)} />
  );
  const money = (path: string, code = currency) => (
    <MoneyInput
      key={path}
      form={form}
      path={path}
      name={label(path)}
      hint={m.hints[path]}
      currency={currencies.find((one) => one.code === code)}
    />
  );
  const config = CONFIG_FIELDS[type].map(({ path, kind }) => {
    if (kind === 'money') return money(path);
    if (kind === 'list') return <Input key={path} form={form} path={path} label={label(path)} lines={4} />;
    if (path === 'config.basis') return <div key={path}>{choice(path, m.lossBases)}</div>;
    if (kind === 'flag') return <div key={path}>{choice(path, m.yesNo)}</div>;
    return <div key={path}>{kind === 'text' ? text(path) : number(path, 'decimal')}</div>;
  });
  return (
    <Form disabled={disabled}>
      <section className={css['section']} aria-label={m.sections.offer}>
        <h2>{m.sections.offer}</h2>
        <Row>
          {text('name')}
          <Select
            form={{ ...form, change: (next) => change({ ...next, wagering_basis: 'bonus' }) }}
            path="type"
            label={label('type')}
            options={optionsOf(m.types)}
            disabled={!is_new}
          />
          {choice('status', m.statuses)}
          {choice('product', m.products)}
          <Select
            form={form}
            path="config.currency"
            label={label('config.currency')}
            options={currencies.map(({ code }) => ({ value: code, name: code }))}
          />
        </Row>
        <Row>{config}</Row>
      </section>
      <section className={css['section']} aria-label={m.sections.wagering}>
        <h2>{m.sections.wagering}</h2>
        <Row>
          {number('wagering_requirement_multiplier', 'decimal')}
          <Select
            form={form}
            path="wagering_basis"
            label={label('wagering_basis')}
            options={basesOf(type).map((value) => ({ value, name: m.bases[value] ?? value }))}
          />
          {number('time_limit_hours')}
          {money('max_bet_during_wagering')}
          {choice('max_bet_action', m.betActions)}
        </Row>
        <details>
          <summary>{m.sections.games}</summary>
          <p className={css['soft']}>{m.gamesHint}</p>
          <Row>
            {GAME_KEYS.map((key) => (
              <Input
                key={key}
                form={form}
                path={`game_contribution.${key}`}
                label={m.gameKeys[key] ?? key}
                mode="numeric"
                max={3}
              />
            ))}
          </Row>
        </details>
        {issueAt(form, 'game_contribution') === undefined ? null : (
          <p role="alert">{issueAt(form, 'game_contribution')}</p>
        )}
      </section>
      <section className={css['section']} aria-label={m.sections.limits}>
        <h2>{m.sections.limits}</h2>
        <Row>
          {money('max_win_cap')}
          {money('budget_base', base)}
          {number('max_grants_per_player')}
          {number('grant_window_days')}
        </Row>
        <Row>
          {text('exclusion_group')}
          {number('min_kyc_level')}
          {choice('wallet_model', m.wallets)}
          <Choice
            label={label('eligible_segment_id')}
            pages={useSegmentChoice()}
            value={texts['eligible_segment_id'] === '' ? null : (texts['eligible_segment_id'] ?? null)}
            none={m.everybody}
            keyOf={({ id }) => id}
            nameOf={({ name }) => name}
            error={issueAt(form, 'eligible_segment_id')}
            onChange={(id) => change({ eligible_segment_id: id ?? '' })}
          />
        </Row>
      </section>
    </Form>
  );
}
