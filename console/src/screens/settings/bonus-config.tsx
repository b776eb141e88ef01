import type { TextIssue } from '../../format/record-texts.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, Row } from '../../ui/form.tsx';
import { Choose } from '../../ui/choose.tsx';
import type { Draft } from './draft.ts';
import type { LicenceRule } from './queries.ts';
import { fieldLabel, numbersOf, ruleField, rulesFor, type RuleField } from './rules.ts';
import css from './settings.module.css';

const m = t.settings;

type Change = (change: Partial<Draft>) => void;

/** What holds for all bonuses of the operator. */
export function BonusSettings({ draft, onChange }: { draft: Draft; onChange: Change }) {
  return (
    <Form>
      <h2>{m.bonuses}</h2>
      <label className={css['check']}>
        <input
          type="checkbox"
          checked={draft.bonuses_paused}
          onChange={({ target }) => onChange({ bonuses_paused: target.checked })}
        />
        {m.fields.bonuses_paused}
      </label>
      <p className={css['soft']}>{m.pausedHint}</p>
      <Row>
        <Choose
          label={m.fields.on_exclusion}
          any={m.onExclusion.usual}
          options={[
            { value: 'keep', label: m.onExclusion.keep },
            { value: 'cancel', label: m.onExclusion.cancel },
          ]}
          value={draft.on_exclusion}
          onChange={(on_exclusion) => onChange({ on_exclusion })}
        />
        <Field label={m.fields.grants_per_day} hint={m.grantsHint}>
          {(control) => (
            <input
              {...control}
              type="number"
              min={0}
              max={1_000}
              step={1}
              value={draft.grants_per_day}
              onChange={({ target }) => onChange({ grants_per_day: target.value })}
            />
          )}
        </Field>
      </Row>
    </Form>
  );
}

/** What the operator changes of the rules of its licence, and of those for all. */
export function LicenceRules({
  draft,
  rules,
  issues,
  onChange,
}: {
  draft: Draft;
  rules: readonly LicenceRule[];
  issues: readonly TextIssue[];
  onChange: Change;
}) {
  return (
    <Form>
      <h2>{m.rules}</h2>
      <p className={css['soft']}>{m.rulesHint}</p>
      {rulesFor(draft.license_jurisdiction, rules, draft).map((rule) => (
        <Rule key={rule.id} rule={rule} draft={draft} issues={issues} onChange={onChange} />
      ))}
    </Form>
  );
}

function Rule({
  rule,
  draft,
  issues,
  onChange,
}: {
  rule: LicenceRule;
  draft: Draft;
  issues: readonly TextIssue[];
  onChange: Change;
}) {
  const set = (field: RuleField, value: string) => onChange({ [field]: value });
  const errorAt = (path: string) =>
    issues.find((issue) => issue.path === `config.license_rules.${rule.id}.${path}`)?.message;
  const severity = ruleField(rule.id, 'severity');
  const reason = ruleField(rule.id, 'reason');
  return (
    <fieldset className={css['checks']}>
      <legend>{rule.summary}</legend>
      <p>
        <Badge>{m.severities[rule.severity]}</Badge> <code>{rule.id}</code>
      </p>
      <Row>
        <Choose
          label={fieldLabel('severity')}
          any={m.asRule}
          options={[
            { value: 'enforce', label: m.severities.enforce },
            { value: 'warn', label: m.severities.warn },
          ]}
          value={draft[severity] ?? ''}
          onChange={(value) => set(severity, value)}
        />
        {numbersOf(rule).map(([name, value]) => (
          <Field
            key={name}
            label={fieldLabel(name)}
            hint={m.ruleSays(value)}
            error={errorAt(`params.${name}`)}
          >
            {(control) => (
              <input
                {...control}
                type="number"
                step={1}
                value={draft[ruleField(rule.id, name)] ?? ''}
                onChange={({ target }) => set(ruleField(rule.id, name), target.value)}
              />
            )}
          </Field>
        ))}
        <Field label={fieldLabel('reason')} hint={m.reasonHint} error={errorAt('reason')}>
          {(control) => (
            <input
              {...control}
              maxLength={500}
              dir="auto"
              value={draft[reason] ?? ''}
              onChange={({ target }) => set(reason, target.value)}
            />
          )}
        </Field>
      </Row>
    </fieldset>
  );
}
